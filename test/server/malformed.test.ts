import { Metadata, type ServiceError } from "@grpc/grpc-js";
import { beforeAll, expect, test } from "vitest";
import { wireError } from "../support/server.js";
import { sharedLedger } from "../support/shared-ledger.js";

const { server, ledger } = await sharedLedger();

beforeAll(async () => {
  await ledger.session({ label: "a" });
});

const identity = (bytes: Buffer) => bytes;
const getSessionA = Buffer.from("0a0161", "hex");

function send(bytes: Buffer): Promise<Buffer> {
  const path = "/quire.v1.LedgerService/GetSession";
  return new Promise((resolve, reject) => {
    server.ledger.makeUnaryRequest(path, identity, identity, bytes, new Metadata(), {}, (error, answer) =>
      error ? reject(error) : resolve(answer!),
    );
  });
}

const refusal = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: ServiceError) => error,
  );

test("malformed: bytes after a tag that cannot be are refused, and not left out", async () => {
  expect((await send(getSessionA)).length).toBeGreaterThan(0);
  for (const rest of ["00010203", "04010203"]) {
    const error = await refusal(send(Buffer.concat([getSessionA, Buffer.from(rest, "hex")])));
    expect(wireError(error), rest).toMatchObject({
      reason: "MALFORMED_REQUEST",
      metadata: { method: "GetSession" },
    });
  }
});

test("malformed: the details of an error with many violations stay within what every client takes", async () => {
  const entries = Array.from({ length: 64 }, (_, index) => ["一".repeat(126) + index, "x".repeat(5_000)]);
  const error = (await refusal(ledger.createSession({ metadata: Object.fromEntries(entries) })))!;
  const [details] = error.metadata.get("grpc-status-details-bin") as [Buffer];
  expect(wireError(error).fields.length).toBeGreaterThan(1);
  const bytes = Math.ceil((details.length * 4) / 3) + encodeURI(error.details).length;
  expect(bytes).toBeLessThan(8 * 1024);
});
