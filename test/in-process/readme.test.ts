import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { tempFolder } from "../support/temp-folder.js";

const run = promisify(execFile);
const packageName = '"quire-server"';

test("in process: the README's snippet compiles and prints a context", async () => {
  const readme = readFileSync(join(packageRoot, "README.md"), "utf8");
  const snippet = [...readme.matchAll(/```ts\n(.*?)```/gs)]
    .map(([, code]) => code!)
    .find((code) => code.includes("createQuire"));
  expect(snippet).toBeDefined();
  const folder = tempFolder();
  const index = join(packageRoot, "dist", "src", "index.js");
  const built = pathToFileURL(index).href;
  const file = join(folder, "snippet.ts");
  writeFileSync(file, snippet!.replace(packageName, JSON.stringify(index)));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const tsconfig = {
    extends: join(packageRoot, "tsconfig.json"),
    compilerOptions: {},
    include: ["snippet.ts"],
  };
  const types = join(packageRoot, "node_modules", "@types");
  Object.assign(tsconfig.compilerOptions, {
    rootDir: "/",
    noEmit: true,
    skipLibCheck: true,
    typeRoots: [types],
  });
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  await run(join(packageRoot, "node_modules", ".bin", "tsc"), ["-p", folder]);

  writeFileSync(
    join(folder, "snippet.mjs"),
    withoutTypes(snippet!).replace(packageName, JSON.stringify(built)),
  );
  const { stdout } = await run(process.execPath, ["snippet.mjs"], { cwd: folder, timeout: 120_000 });
  expect(stdout).toMatch(/^You are Atlas\. 2 \d+\n$/);
});

/** The snippet as JavaScript: it has few types, and Node 20 takes none. */
function withoutTypes(code: string): string {
  return code.replace("(value: string)", "(value)").replace(" as const", "");
}
