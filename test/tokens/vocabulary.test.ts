import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { loadVocabulary } from "../../src/tokens/vocabulary.js";

it("vocabulary: a thread that starts later finds the ranks in the memory of the one that read them", async () => {
  const { size } = loadVocabulary("o200k_base");
  const worker = new Worker(
    `const { getEnvironmentData, parentPort } = require("node:worker_threads");
     const { size, blob, slots } = getEnvironmentData("quire: ranks of o200k_base");
     parentPort.postMessage({ size, isShared: [blob, slots].every(({ buffer }) => buffer instanceof SharedArrayBuffer) });`,
    { eval: true },
  );
  const [found] = await once(worker, "message");
  expect(found).toEqual({ size, isShared: true });
  await worker.terminate();
});
