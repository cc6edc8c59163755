import { execFile } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { startTestServer } from "../support/server.js";
import { tempFolder } from "../support/temp-folder.js";
import { standIn } from "./support.js";

const run = promisify(execFile);

test("the code of docs/clients/typescript.md compiles as one program, and prints what it should", async () => {
  const page = readFileSync(join(packageRoot, "docs", "clients", "typescript.md"), "utf8");
  const code = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block!).join("");
  const server = await startTestServer();
  const { baseUrl } = await standIn();
  const folder = tempFolder();
  symlinkSync(join(packageRoot, "node_modules"), join(folder, "node_modules"));
  const program = code.replace("127.0.0.1:50051", server.address).replace("http://127.0.0.1:8080", baseUrl);
  writeFileSync(join(folder, "page.ts"), program);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const compilerOptions = { noEmit: false, rootDir: ".", outDir: "built" };
  const tsconfig = { extends: join(packageRoot, "tsconfig.json"), compilerOptions, include: ["page.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  try {
    await run(join(packageRoot, "node_modules", ".bin", "tsc"), ["-p", folder]).catch(({ stdout }) => {
      throw new Error(stdout);
    });
    const { stdout } = await run(process.execPath, ["built/page.js"], { cwd: folder, timeout: 240_000 });
    expect(stdout.split("\n")).toEqual([
      "NOT_FOUND SESSION_NOT_FOUND nobody",
      "INVALID_FIELD page_size",
      "The lease ends in May. 2",
      "3 The lease ends in May.",
      "true 0",
      "TURN_STATUS_COMPLETED",
      "",
    ]);
  } finally {
    await server.stop();
  }
});
