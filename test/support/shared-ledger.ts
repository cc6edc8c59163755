import { afterAll } from "vitest";
import { type LedgerCalls, ledgerCalls } from "../ledger/ledger-calls.js";
import { startTestServer, type TestServer } from "./server.js";

/** A server for all tests of a file, stopped after the last of them. */
export async function sharedLedger(): Promise<{ readonly server: TestServer; readonly ledger: LedgerCalls }> {
  const server = await startTestServer();
  afterAll(() => server.stop());
  return { server, ledger: ledgerCalls(server.ledger) };
}
