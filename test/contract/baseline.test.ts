import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../support/temp-folder.js";

/** What comparing the contract with its baseline says, after a change to one of its files. */
function compare(
  file: string,
  from: string,
  to: string,
): { readonly code: number | null; readonly out: string } {
  const folder = tempFolder();
  for (const part of ["buf.yaml", "proto", "third_party"])
    cpSync(part, join(folder, part), { recursive: true });
  const path = join(folder, "proto/quire/v1", file);
  const text = readFileSync(path, "utf8");
  expect(text).toContain(from);
  writeFileSync(path, text.replace(from, to));
  const buf = join(process.cwd(), "node_modules/.bin/buf");
  const args = ["breaking", "proto", "--exclude-imports", "--against", "proto/baseline.binpb"];
  const { status, stdout, stderr } = spawnSync(buf, args, { cwd: folder, encoding: "utf8" });
  return { code: status, out: `${stdout}${stderr}` };
}

test("a field that is added breaks nothing", () => {
  const added = "  string label = 2;\n  // extra is new.\n  string extra = 1000;\n";
  expect(compare("session.proto", "  string label = 2;\n", added)).toEqual({ code: 0, out: "" });
});

test.each([
  ["a field that is taken away", "session.proto", "  string label = 2;\n", ""],
  ["a field that gets another type", "session.proto", "  string label = 2;\n", "  bytes label = 2;\n"],
  ["a field that gets another name", "session.proto", "  string label = 2;\n", "  string name = 2;\n"],
  [
    "an RPC that is taken away",
    "ledger_service.proto",
    "  rpc GetSession(GetSessionRequest) returns (GetSessionResponse);\n",
    "",
  ],
])("%s breaks callers", (_, file, from, to) => {
  const { code, out } = compare(file, from, to);
  expect(code).toBe(100);
  expect(out).not.toBe("");
});
