import { expect } from "vitest";
import type { Quire } from "../../src/index.js";
import { LoroClient } from "./loro-client.js";
import { compositeOf, field, mapOf, named, op, putBlock, textNow, textOf } from "./memory-quire.js";

type Memory = Pick<Quire, "memory">;

/** A block that many write at once: a text of words that are each there once, and a counter. */
export async function createContested(quire: Quire): Promise<void> {
  const schema = compositeOf(
    { name: "words", schema: textOf.schema as never },
    { name: "counts", schema: mapOf(field("n", "COUNTER")).schema as never },
  );
  await putBlock(quire, "contested", schema, [], { charLimit: 1_000_000 });
}

/** What was acknowledged of a writer's edits. */
export interface Written {
  readonly words: string[];
}

/** A copy takes in what others wrote after so many edits. */
const takenInEvery = 16;

/**
 * Where writers wait for each other before they take in what others wrote, as people do who stop and read. The library merges anew all
 * that was written since all copies last had the same: without such moments, each edit costs as much as there are edits before it.
 */
export class Meeting {
  private waiting: (() => void)[] = [];

  constructor(private readonly count: number) {}

  come(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      if (this.waiting.length === this.count) for (const go of this.waiting.splice(0)) go();
    });
  }
}

/** What is to be done about a call that failed: by default it fails the test. */
type Again = (error: unknown) => Promise<void>;

const never: Again = (error) => Promise.reject(error);

async function until<T>(call: () => Promise<T>, again: Again): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      await again(error);
    }
  }
}

/** Edits through UpdateBlock, each with a request id, so that what was cut off can be sent again. */
export async function editWords(
  memory: Memory,
  writer: number,
  edits: number,
  written: Written,
  again: Again = never,
): Promise<void> {
  for (let at = 0; at < edits; at++) {
    const word = `w${writer}-${at}`;
    const request = {
      requestId: `edit ${word}`,
      block: named("contested"),
      operations: [
        op("appendText", { text: `${word} ` }, "words"),
        op("incrementCounter", { field: "n", by: 1 }, "counts"),
      ] as never,
    };
    await until(() => memory.memory.updateBlock(request), again);
    written.words.push(word);
  }
}

/** Edits through SyncBlock, on a copy of the writer's own. What was cut off is sent again: what the server has of it already, it leaves. */
export async function syncWords(
  memory: Memory,
  writer: number,
  edits: number,
  written: Written,
  again: Again = never,
  meeting = new Meeting(1),
): Promise<LoroClient> {
  const client = await until(() => new LoroClient(memory, "contested").open(), again);
  for (let at = 0; at < edits; at++) {
    const word = `s${writer}-${at}`;
    const text = client.doc.getText("section:words:text");
    text.insert(text.length, `${word} `);
    client.doc.getCounter("section:counts:counter:n").increment(1);
    await until(() => client.sync({ isPutOff: true }), again);
    written.words.push(word);
    if (at % takenInEvery !== 0) continue;
    await meeting.come();
    await until(() => client.sync(), again);
  }
  return client;
}

/** Every acknowledged word is there once, the counter has counted each, and all copies say the same. */
export async function checkContested(
  servers: readonly Quire[],
  written: readonly Written[],
  copies: readonly LoroClient[] = [],
): Promise<void> {
  const words = written.flatMap((one) => one.words).sort();
  const texts = await Promise.all(servers.map((server) => textNow(server, "contested")));
  expect(new Set(texts).size).toBe(1);
  const [, text, counts] = /^=== words ===\n\n(.*)\n\n=== counts ===\n\nn: (\d+)$/s.exec(texts[0]!)!;
  expect(text!.trim().split(" ").sort()).toEqual(words);
  expect(Number(counts)).toBe(words.length);
  for (const copy of copies) {
    await copy.sync();
    expect(copy.doc.getText("section:words:text").toString().trim()).toBe(text!.trim());
    expect(copy.doc.getCounter("section:counts:counter:n").value).toBe(words.length);
  }
}
