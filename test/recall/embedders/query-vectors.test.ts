import { expect, test } from "vitest";
import { Caches } from "../../../src/domain/caches.js";
import type { Embedder } from "../../../src/recall/embedders/embedder.js";
import { QueryVectors } from "../../../src/recall/embedders/query-vectors.js";
import { handTimers } from "../../support/hand-timers.js";

/** An embedder that answers when it is told to. */
function slowEmbedder() {
  const waiting: (() => void)[] = [];
  let asked = 0;
  const embedder: Embedder = {
    id: "slow",
    embed(texts: readonly string[]) {
      asked++;
      return new Promise((answer) => {
        waiting.push(() => answer(texts.map(() => Float32Array.of(1, 0))));
      });
    },
  };
  const answer = () => {
    for (const one of waiting.splice(0)) one();
  };
  return { embedder, answer, asked: () => asked };
}

function opened() {
  const timers = handTimers();
  const slow = slowEmbedder();
  const clock = { now: () => 1_000 };
  const queries = new QueryVectors({ embedder: slow.embedder, caches: new Caches(), clock, timers });
  return { timers, queries, ...slow };
}

test("a question's vector is waited for as long as the asker says; the call goes on, and whoever asks next has it", async () => {
  const { queries, timers, answer, asked } = opened();
  const hurried = queries.of("where is it", undefined, 250);
  await timers.set(1);
  timers.runOutNext();
  expect(await hurried).toBe("the embedder gave no vector within 250 ms");
  expect(await queries.of("something else")).toBe("the embedder gave no vector within 250 ms");
  answer();
  await new Promise(setImmediate);
  expect(await queries.of("where is it")).toEqual(Float32Array.of(1, 0));
  expect(asked()).toBe(1);
});

test("many who ask the same at the same time ask once", async () => {
  const { queries, answer, asked } = opened();
  const both = [queries.of("where is it"), queries.of("where is it")];
  answer();
  for (const vector of await Promise.all(both)) expect(vector).toEqual(Float32Array.of(1, 0));
  expect(asked()).toBe(1);
});
