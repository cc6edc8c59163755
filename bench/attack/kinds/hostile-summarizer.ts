import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AssemblyServiceService } from "../../../src/contract/gen/quire/v1/assembly_service.js";
import { prose, seeded } from "../../measure.js";
import type { Attack } from "../attack.js";
import { contextOf, someAtOnce, userTurn } from "../target.js";

const sessions = 16;
const turns = 8;
const chunk = Buffer.alloc(256 * 1024, "x");

/** What a model endpoint may do to those who ask it. */
const misdeeds: readonly ((response: ServerResponse) => void)[] = [
  () => undefined,
  (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const pour = () => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once("drain", pour);
    };
    response.write('{"choices":[{"message":{"content":"');
    pour();
  },
  (response) => response.writeHead(500).end("{}"),
  (response) => response.writeHead(200, { "content-type": "application/json" }).end("[[[not json \u0000"),
];

/** A summarizer that hangs, pours without end, fails or talks nonsense, each in turn, while contexts wait for summaries. */
export const hostileSummarizer: Attack = {
  async flags() {
    let asked = 0;
    const endpoint = createServer((request, response) => {
      request.resume();
      request.on("end", () => misdeeds[asked++ % misdeeds.length]!(response));
    });
    await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
    const { port } = endpoint.address() as AddressInfo;
    return {
      summarizerOpenaiUrl: `http://127.0.0.1:${port}/v1`,
      summarizerOpenaiModel: "hostile",
      summarizerTimeoutMs: 2_000,
      summarizerRetries: 1,
    };
  },
  async prepare(target) {
    await target.putAgent();
    const labels = await target.sessions(sessions);
    await someAtOnce(labels, 8, async (session) => {
      let parentTurnId = "";
      for (let turn = 0; turn < turns; turn++) {
        const said = prose(seeded(turn), 600);
        parentTurnId = await target.record({ ...userTurn(session, said), parentTurnId });
      }
    });
    const settings = { keepTurns: 1, summarizers: { names: ["openai", "extractive"] } };
    return () =>
      Promise.all(
        labels.map((session) =>
          target.caller.call(AssemblyServiceService.buildContext, contextOf(session, { settings }, 400)),
        ),
      );
  },
};
