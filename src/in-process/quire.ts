import type { CallsOf } from "../contract/service.js";
import type { services } from "../contract/services.js";
import { type Rooms, servicesOn } from "../server/services.js";
import { bind, type CallOptions } from "./bind.js";
import { RunningCalls } from "./running-calls.js";

type Services = typeof services;

/**
 * The engine in this process: what the server serves, without a network hop.
 *
 * - A method takes the request of its RPC, with only the fields that matter, and gives the RPC's response.
 * - It checks and does what the RPC does. What fails is a `QuireError` with `reason`, `violations` and `metadata`.
 * - Its second argument is `{ signal }`: `AbortSignal.timeout(ms)` is a deadline.
 */
export interface Quire {
  /** Sessions, turns and their messages. */
  readonly ledger: CallsOf<Services["ledger"], CallOptions>;
  /** Agents' definitions, and what they learn. */
  readonly capsules: CallsOf<Services["capsules"], CallOptions>;
  /** Documents, capabilities and toolsets. */
  readonly workspaces: CallsOf<Services["workspaces"], CallOptions>;
  /** Memory blocks, the tools that change them, and archival entries. */
  readonly memory: CallsOf<Services["memory"], CallOptions>;
  /** What contexts know besides their conversation, and who tells them. */
  readonly sources: CallsOf<Services["sources"], CallOptions>;
  /** Contexts: layer by layer or at once, their receipts, and token counts. */
  readonly assembly: CallsOf<Services["assembly"], CallOptions>;
  /** Takes no more calls, ends the streams, waits for what is being written, and closes the database. */
  close(): Promise<void>;
}

/** The services on an engine, which is closed with them. */
export function quireOn(engine: Rooms & { close(): Promise<void> }): Quire {
  const calls = new RunningCalls();
  const { ledger, capsules, workspaces, memory, sources, assembly } = servicesOn(engine);
  let closed: Promise<void> | undefined;
  return {
    ledger: bind(calls, ledger),
    capsules: bind(calls, capsules),
    workspaces: bind(calls, workspaces),
    memory: bind(calls, memory),
    sources: bind(calls, sources),
    assembly: bind(calls, assembly),
    close() {
      closed ??= calls.close().then(() => engine.close());
      return closed;
    },
  };
}
