import { parentPort } from "node:worker_threads";
import { countTokens } from "./count-tokens.js";
import type { CountReply, CountRequest } from "./counting-worker.js";

parentPort?.on("message", ({ id, texts, vocabulary }: CountRequest) => {
  const reply: CountReply = { id, counts: texts.map((text) => countTokens(text, vocabulary)) };
  parentPort?.postMessage(reply);
});
