import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Engine } from "../../src/engine.js";
import type { Quire } from "../../src/index.js";
import type { Conversation } from "../locomo.js";
import { progress } from "../measure.js";
import { user } from "./said.js";

/** Who has said and kept all of it. */
export const agent = "many";
export const dimensions = 384;

export interface Copy {
  readonly text: string;
  readonly timeMs: number;
}

/** LoCoMo's sessions again and again, until there are so many messages. */
export function* copies(conversations: readonly Conversation[], count: number): Generator<readonly Copy[]> {
  for (let left = count; ; )
    for (const { sessions } of conversations)
      for (const said of sessions) {
        const some = said.slice(0, left);
        if (some.length > 0)
          yield some.map(({ speaker, text, spokenMs }) => ({
            text: `${speaker}: ${text}`,
            timeMs: spokenMs,
          }));
        left -= some.length;
        if (left === 0) return;
      }
}

/** Each session as one turn of a session of its own, indexed and with vectors. */
export async function writeMessages(quire: Quire, sessions: Iterable<readonly Copy[]>): Promise<void> {
  let at = 0;
  for (const said of sessions) {
    const session = `${agent} ${at++}`;
    await quire.ledger.createSession({ label: session, defaults: { capsule: agent } });
    const metadata = { time: new Date(said[0]!.timeMs).toISOString() };
    await quire.ledger.recordTurn({
      session,
      messages: said.map(({ text }) => user(text)),
      details: { metadata },
    });
    if (at % 500 === 0) progress(`recall: ${at.toLocaleString("en")} sessions written`);
  }
}

export async function writeMemories(quire: Quire, sessions: Iterable<readonly Copy[]>): Promise<void> {
  const owner = { kind: "OWNER_KIND_AGENT", name: agent } as const;
  for (const said of sessions)
    for (const { text, timeMs } of said)
      await quire.memory.insertArchival({
        owner,
        content: text,
        metadataJson: JSON.stringify({ time: new Date(timeMs).toISOString() }),
      });
}

export async function untilSearchable({ recall }: Engine): Promise<void> {
  for (let left = 1; left > 0; ) {
    left = await recall.indexer.catchUp("default");
    progress(`recall: ${left.toLocaleString("en")} texts wait to be indexed`);
  }
  await recall.embedding?.worker.idle();
  progress("recall: all is indexed");
}

export interface VectorServer {
  readonly url: string;
  close(): Promise<void>;
}

/** An embedding endpoint whose vectors follow from the words of a text: the same run for run, and near where words are shared. */
export async function startVectorServer(): Promise<VectorServer> {
  const known = new Map<string, string>();
  const vectorOf = (text: string) => {
    const json = known.get(text) ?? JSON.stringify(wordVector(text));
    known.set(text, json);
    return json;
  };
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly input: readonly string[] };
    const data = input.map((text, index) => `{"index":${index},"embedding":${vectorOf(text)}}`);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(`{"object":"list","model":"words","data":[${data.join(",")}]}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The sum of a direction for each word, which follows from its letters. */
function wordVector(text: string): number[] {
  const vector = new Array<number>(dimensions).fill(1e-3);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    let state = 2_166_136_261;
    for (const letter of word) state = Math.imul(state ^ letter.codePointAt(0)!, 16_777_619);
    for (let at = 0; at < dimensions; at++) {
      state = Math.imul(state ^ (state >>> 13), 1_540_483_477) + 1;
      vector[at]! += state / 2 ** 31;
    }
  }
  return vector.map((value) => Math.round(value * 1e4) / 1e4);
}
