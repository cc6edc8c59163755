import { createGzip } from "node:zlib";
import {
  LedgerServiceService,
  RecordTurnRequest,
} from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { MessageRole } from "../../../src/contract/gen/quire/v1/message.js";
import { encoded } from "../../assembly-client.js";
import { text } from "../../assembly-conversation.js";
import { prose, seeded } from "../../measure.js";
import type { Attack } from "../attack.js";
import { RawConnection } from "../raw-connection.js";

const megabyte = 1_000_000;
const { path } = LedgerServiceService.recordTurn;

/** Forty requests of 28 MB at once, each over a connection of its own. */
export const largeRequests: Attack = {
  boundMs: 40_000,
  async prepare(target) {
    const labels = await target.sessions(40);
    const parts = Array.from({ length: 7 }, (_, at) => text(prose(seeded(at), 4 * megabyte)));
    const messages = encoded(RecordTurnRequest, { messages: [{ role: MessageRole.USER, parts }] });
    return (signal) =>
      Promise.all(
        labels.map(async (session) => {
          const connection = new RawConnection(target.address, target.tally);
          signal.addEventListener("abort", () => connection.close());
          await connection.unary(path, [encoded(RecordTurnRequest, { session }), messages]);
          connection.close();
        }),
      );
  },
};

/** Small requests that are large once they are unpacked. */
export const gzipBombs: Attack = {
  async prepare(target) {
    const bomb = await gzipped(900, megabyte);
    return (signal) =>
      Promise.all(
        Array.from({ length: 10 }, async () => {
          const connection = new RawConnection(target.address, target.tally);
          signal.addEventListener("abort", () => connection.close());
          await connection.unary(path, [bomb], { "grpc-encoding": "gzip" });
          connection.close();
        }),
      );
  },
};

async function gzipped(times: number, bytes: number): Promise<Buffer> {
  const gzip = createGzip({ level: 9 });
  const piece = Buffer.alloc(bytes);
  const packed: Buffer[] = [];
  const writing = (async () => {
    for (let at = 0; at < times; at++) {
      if (!gzip.write(piece)) await new Promise((resolve) => gzip.once("drain", resolve));
    }
    gzip.end();
  })();
  for await (const chunk of gzip) packed.push(chunk as Buffer);
  await writing;
  return Buffer.concat(packed);
}
