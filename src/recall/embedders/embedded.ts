import { untilAborted } from "../../domain/until-aborted.js";
import { EndpointFailure } from "../../endpoints/call-failure.js";
import { task } from "../../offload/offload.js";
import { TaskTimedOut, ThrowawayThread } from "../../offload/throwaway-thread.js";
import { checkVectors } from "./check-vectors.js";
import type { EmbeddedFiles } from "./embedded-files.js";
import type { embedText } from "./embedded-model.js";
import type { Embedder } from "./embedder.js";
import { prepareText } from "./prepare-text.js";

const embedding = task<typeof embedText>("src/recall/embedders/embedded-model.ts", "embedText");
/** The largest text takes a fifth of a second; a machine may be slow, and the first one waits for the model. */
const timeoutMs = 60_000;
const idleMs = 10 * 60_000;
const dimensions = 384;

export interface ClosableEmbedder extends Embedder {
  close(): Promise<void>;
}

/**
 * all-MiniLM-L6-v2 in a worker thread. Texts go in one at a time, so a question waits for one text at most, whatever is being
 * indexed. It reads the first 256 tokens of a text.
 */
export function embeddedEmbedder(files: EmbeddedFiles): ClosableEmbedder {
  const thread = new ThrowawayThread(timeoutMs, idleMs);
  return {
    id: "embedded/minilm-l6-v2-fp16",
    async embed(texts, _side, signal) {
      const vectors: Float32Array[] = [];
      for (const text of texts) {
        signal?.throwIfAborted();
        const done = thread.run(embedding, { files, text: prepareText(text) }, () => false).catch(asFailure);
        vectors.push(await (signal ? untilAborted(done, signal) : done));
      }
      return checkVectors(vectors, texts.length, dimensions);
    },
    close: () => thread.close(),
  };
}

function asFailure(error: unknown): never {
  if (error instanceof TaskTimedOut) throw new EndpointFailure(`was ${error.message}`);
  throw new EndpointFailure(`failed: ${error instanceof Error ? error.message : "no reason is known"}`);
}
