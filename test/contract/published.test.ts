import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { createFileRegistry, type DescFile, type FileRegistry, fromBinary, toJson } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { contractRegistry } from "../../src/contract/descriptors.js";
import { rulesOf } from "../../src/contract/rules.js";
import { tempFolder } from "../support/temp-folder.js";

const run = promisify(execFile);
const published = join(packageRoot, "contract", "quire", "v1");
const descriptors = join("src", "contract", "gen", "descriptors.binpb");
const isQuire = (file: DescFile) => file.proto.package === "quire.v1";

/** The published copy alone, as a client's buf compiles it. */
async function compiled(): Promise<FileRegistry> {
  const folder = tempFolder();
  cpSync(join(packageRoot, "contract"), folder, { recursive: true });
  const image = join(folder, "image.binpb");
  const buf = join(packageRoot, "node_modules", ".bin", "buf");
  await run(buf, ["build", folder, "--as-file-descriptor-set", "-o", image]);
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(image)));
}

/** A file without rules, comments and what they need. */
function shape(file: DescFile): unknown {
  const json = toJson(FileDescriptorProtoSchema, file.proto, {
    registry: contractRegistry(),
  }) as Readonly<Record<string, unknown>>;
  const imports = (json.dependency ?? []) as readonly string[];
  const dependency = imports.filter((name) => !/^(buf\/validate|google\/api)\//.test(name));
  return withoutRules({ ...json, dependency, sourceCodeInfo: undefined });
}

function withoutRules(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutRules);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !/^\[(buf\.validate|google\.api)\./.test(key));
  const entries = kept.map(([key, entry]) => [key, withoutRules(entry)] as const);
  // Options that held nothing but rules are gone with them.
  return Object.fromEntries(
    entries.filter(([key, entry]) => !(key === "options" && Object.keys(entry as object).length === 0)),
  );
}

describe("the published contract", () => {
  test("is what the script makes of the contract now", async () => {
    const folder = tempFolder();
    mkdirSync(dirname(join(folder, descriptors)), { recursive: true });
    cpSync(join(packageRoot, descriptors), join(folder, descriptors));
    await run(process.execPath, [join(packageRoot, "scripts", "contract.mjs"), folder]);
    const made = join(folder, "contract", "quire", "v1");
    expect(readdirSync(made)).toEqual(readdirSync(published));
    for (const name of readdirSync(made))
      expect(readFileSync(join(published, name), "utf8"), name).toBe(readFileSync(join(made, name), "utf8"));
  });

  test("compiles by itself, and is the contract in everything but the rules", async () => {
    const registry = await compiled();
    const files = [...registry.files].filter(isQuire);
    expect(files.map(({ name }) => name).sort()).toEqual(
      [...contractRegistry().files]
        .filter(isQuire)
        .map(({ name }) => name)
        .sort(),
    );
    for (const file of files) {
      expect(file.dependencies.filter(({ name }) => !/^(google\/protobuf|quire\/v1)\//.test(name))).toEqual(
        [],
      );
      expect(shape(file), file.name).toEqual(shape(contractRegistry().getFile(`${file.name}.proto`)!));
    }
  });

  test("says every bound in words, in lines of at most 110 columns", () => {
    const text = readdirSync(published)
      .map((name) => readFileSync(join(published, name), "utf8"))
      .join("\n");
    const bounded = [...contractRegistry()]
      .filter((type) => type.kind === "message")
      .filter((type) => isQuire(type.file))
      .flatMap(({ fields }) => fields.map(rulesOf))
      // That a value is one of its enum goes without saying.
      .filter(({ enum: known, ignore, ...rules }) => known?.notIn || Object.keys(rules).length > 0);
    expect(bounded.length).toBeGreaterThan(200);
    expect(text.match(/^ *\/\/ (Required\.|Bounds: )/gm)).toHaveLength(bounded.length);
    expect(text).not.toMatch(/buf\.validate|google\.api/);
    const comments = text.split("\n").filter((line) => /^ *\/\//.test(line));
    expect(comments.filter((line) => line.length > 110)).toEqual([]);
    expect(text).toContain("  // Bounds: 1 to 256 characters, no control characters.\n  string session = ");
    expect(text).toContain("  // Bounds: 1 to 100, if set.\n  optional uint32 keep_turns = ");
  });
});
