import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { fromBinary, fromJsonString, toBinary, toJson } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { messageDescriptor } from "../../src/contract/descriptors.js";
import { startTestServer } from "../support/server.js";

const run = promisify(execFile);
const guide = readFileSync(join(packageRoot, "docs", "memory.md"), "utf8");
const blocks = [...guide.matchAll(/```(\w*)\n(.*?)```/gs)].map(([, language, text]) => ({
  language,
  text: text!,
}));
const scripts = blocks.filter(({ language }) => language === "sh").map(({ text }) => text);
const calls = scripts.flatMap((text) => [...text.matchAll(/^call (\w+)\/(\w+) '([^']*)'/gm)]);
const commands = scripts.flatMap((text) =>
  [...text.matchAll(/^npx quire (.*)$/gm)].map(([, words]) => words!),
);

test("memory: every call and every command of the guide works, in its order, and gives what the guide shows", async () => {
  const server = await startTestServer();
  onTestFinished(() => server.stop());
  const client = new Client(server.address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const answers: { readonly method: string; readonly json: Record<string, unknown> }[] = [];
  for (const [, service, method, json] of calls) {
    const [asked, answered] = [messageDescriptor(`${method}Request`), messageDescriptor(`${method}Response`)];
    const request = Buffer.from(toBinary(asked, fromJsonString(asked, json!)));
    const answer = await new Promise<Buffer>((resolve, reject) => {
      const bytes = (buffer: Buffer) => buffer;
      client.makeUnaryRequest(`/quire.v1.${service}/${method}`, bytes, bytes, request, (error, response) =>
        error ? reject(new Error(`${method} ${json}: ${error.message}`)) : resolve(response!),
      );
    });
    answers.push({ method: method!, json: toJson(answered, fromBinary(answered, answer)) as never });
  }
  expect(answers.length).toBeGreaterThan(20);
  const of = (method: string) => answers.filter((answer) => answer.method === method).map(({ json }) => json);
  const shown = blocks.filter(({ language }) => language === "").map(({ text }) => text.trim());
  expect(shown.length).toBe(1);
  expect((of("GetBlock")[0]!.block as { rendered: string }).rendered).toBe(shown[0]);
  expect(JSON.stringify(of("BuildContext")[0])).toMatch(/<block:human .*<block:plan /);
  expect((of("GetBlock")[1]!.block as { rendered: string }).rendered).toContain('shared_from="atlas"');
  expect(of("ExecuteTool").map(({ isError }) => isError ?? false)).toEqual([false, true]);
  expect(JSON.stringify(of("Search")[0])).toContain("order A-0999");

  expect(commands.length).toBeGreaterThan(3);
  for (const words of commands) {
    const args = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
    const cli = [join(packageRoot, "bin", "quire.js"), ...args, "--address", server.address];
    const { stdout } = await run(process.execPath, cli);
    expect(stdout, words).not.toBe("");
  }
});
