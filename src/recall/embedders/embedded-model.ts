import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { once } from "../../endpoints/once.js";
import type { CheckedFile, EmbeddedFiles } from "./embedded-files.js";

type Embed = (texts: string[]) => Promise<number[][]>;

export interface EmbedTask {
  readonly files: EmbeddedFiles;
  readonly text: string;
}

let model: (() => Promise<Embed>) | undefined;

/** Runs in a worker thread, which keeps the model. */
export async function embedText({ files, text }: EmbedTask): Promise<Float32Array> {
  model ??= once(() => load(files));
  const embed = await model();
  const [vector] = await embed([text]);
  return Float32Array.from(vector ?? []);
}

async function load(files: EmbeddedFiles): Promise<Embed> {
  for (const file of [files.engine, files.weights, files.tokenizer, files.config]) await check(file);
  const { createEmbedder } = (await import(pathToFileURL(files.engineModule).href)) as {
    createEmbedder: (given: { readonly model: unknown }) => Promise<{ embed: Embed }>;
  };
  const { embed } = await createEmbedder({
    model: {
      id: "minilm-l6-v2",
      dimensions: 384,
      maxTokens: 256,
      pooling: "mean",
      normalize: true,
      weightsPath: files.weights.path,
      tokenizerPath: files.tokenizer.path,
      configPath: files.config.path,
    },
  });
  return embed;
}

async function check({ path, sha256 }: CheckedFile): Promise<void> {
  const found = createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
  if (found !== sha256) throw new Error(`${path} is not what it must be: its SHA-256 is ${found}`);
}
