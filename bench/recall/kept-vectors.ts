import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packageRoot } from "../../src/config/package-root.js";
import type { ClosableEmbedder } from "../../src/recall/embedders/embedded.js";
import { embeddedEmbedder } from "../../src/recall/embedders/embedded.js";
import { findEmbeddedFiles } from "../../src/recall/embedders/embedded-files.js";
import { progress } from "../measure.js";

const file = join(packageRoot, "node_modules", ".cache", "quire-bench", "minilm-vectors.json");

/** The embedded model, which makes each vector once: the next run reads it. Undefined where it is not installed. */
export function keptVectors(): ClosableEmbedder | undefined {
  const files = findEmbeddedFiles();
  if (files === undefined) {
    progress("recall: the embedded model is not installed; hybrid search is skipped");
    return undefined;
  }
  const embedder = embeddedEmbedder(files);
  const kept = new Map<string, string>(
    existsSync(file) ? Object.entries(JSON.parse(readFileSync(file, "utf8")) as Record<string, string>) : [],
  );
  let made = 0;
  return {
    id: embedder.id,
    async embed(texts, side, signal) {
      const vectors: Float32Array[] = [];
      for (const text of texts) {
        const known = kept.get(text);
        const [vector] = known ? [decode(known)] : await embedder.embed([text], side, signal);
        if (!known) {
          kept.set(text, encode(vector!));
          if (++made % 500 === 0) progress(`recall: ${made} vectors made`);
        }
        vectors.push(vector!);
      }
      return vectors;
    },
    async close() {
      await embedder.close();
      if (made === 0) return;
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify(Object.fromEntries(kept)));
    },
  };
}

function encode(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
}

function decode(text: string): Float32Array {
  return new Float32Array(Uint8Array.from(Buffer.from(text, "base64")).buffer);
}
