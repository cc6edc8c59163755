import { setTimeout as sleep } from "node:timers/promises";
import {
  AssembleRequest,
  AssemblyServiceService,
  BuildContextRequest,
} from "../../../src/contract/gen/quire/v1/assembly_service.js";
import {
  LedgerServiceService,
  StreamHistoryRequest,
} from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { MessageRole, type Part } from "../../../src/contract/gen/quire/v1/message.js";
import { encoded } from "../../assembly-client.js";
import type { Attack } from "../attack.js";
import { prefix, RawConnection } from "../raw-connection.js";
import { contextOf, turnOf } from "../target.js";

const answerMb = 24;
const readersOfAKind = 20;
const holdMs = 5_000;

/** Asks for answers of 24 MB and does not read them. */
export const slowReaders: Attack = {
  async prepare(target) {
    await target.putAgent();
    const [session] = await target.sessions(1);
    const data = Buffer.alloc(1_000_000, "x");
    const file: Part = {
      content: {
        $case: "file",
        value: { source: { $case: "data", value: data }, mediaType: "text/plain", name: "x.txt" },
      },
    };
    const parts = Array.from({ length: answerMb }, () => file);
    await target.record(turnOf(session!, [{ role: MessageRole.USER, parts }]));
    const { context } = contextOf(session!);
    const thread = { $case: "session" as const, value: session! };
    const requests: [string, Buffer][] = [
      [AssemblyServiceService.assemble.path, encoded(AssembleRequest, { context })],
      [AssemblyServiceService.buildContext.path, encoded(BuildContextRequest, { context })],
      [LedgerServiceService.streamHistory.path, encoded(StreamHistoryRequest, { thread })],
    ];
    return async () => {
      const connections = Array.from({ length: readersOfAKind }, () => {
        const connection = new RawConnection(target.address, target.tally);
        for (const [path, body] of requests) {
          connection.open(path).end(Buffer.concat([prefix([body]), body]));
          target.caller.note("not read");
        }
        return connection;
      });
      await sleep(holdMs);
      for (const connection of connections) connection.close();
    };
  },
};
