import { Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { contractRegistry } from "../../src/contract/descriptors.js";
import { rulesOf } from "../../src/contract/rules.js";
import { textCheck } from "../../src/server/validation/engine/value-checks.js";
import { failure, startTestServer, type TestServer } from "../support/server.js";
import { boundCases } from "./bound-cases.js";

let server: TestServer;

beforeAll(async () => {
  // The largest body that is refused for its size is larger than the largest request.
  server = await startTestServer({ maxRequestBytes: 64 * 1024 * 1024 });
});

afterAll(() => server?.stop());

const identity = (bytes: Buffer) => bytes;
const registry = contractRegistry();
const services = [
  "LedgerService",
  "CapsuleService",
  "WorkspaceService",
  "MemoryService",
  "SourceService",
  "AssemblyService",
].map((name) => registry.getService(`quire.v1.${name}`)!);
const seen = new Set<string>();
const methods = services.flatMap((service) =>
  service.methods.map((method) => ({
    name: `${service.name}/${method.name}`,
    path: `/${service.typeName}/${method.name}`,
    cases: boundCases(method.input, seen),
  })),
);

function send(path: string, bytes: Buffer): Promise<unknown> {
  return new Promise((resolve, reject) => {
    server.ledger.makeUnaryRequest(path, identity, identity, bytes, new Metadata(), {}, (error, answer) =>
      error ? reject(error) : resolve(answer),
    );
  });
}

describe("every bound of the contract is enforced over the wire, with the path of the field", () => {
  test.each(methods.filter(({ cases }) => cases.length > 0))("$name", async ({ path, cases }) => {
    for (const { rule, path: field, request } of cases) {
      const refused = await failure(send(path, request()));
      expect(refused.reason, `${field} ${rule}`).toBe("INVALID_FIELD");
      expect(refused.fields, `${field} ${rule}`).toContain(field);
    }
  });
});

test("no message carries rules that no request reaches", () => {
  const stated = [...registry]
    .filter((type) => type.kind === "message" && type.file.proto.package === "quire.v1")
    .flatMap((type) => (type.kind === "message" ? type.fields : []))
    .filter((field) => Object.keys(rulesOf(field)).length > 0)
    .map((field) => field.parent.typeName);
  expect(stated.length).toBeGreaterThan(200);
  expect([...new Set(stated)].filter((name) => !seen.has(name))).toEqual([]);
});

describe("a text at its bound is taken, and one beyond is not", () => {
  test.each([
    ["characters, not UTF-16 units", { maxLen: 3 }, "\u{1F600}\u{1F600}\u{1F600}", "\u{1F600}abc"],
    ["characters that are counted", { maxLen: 4 }, "\u{1F600}\u{1F600}ab", "\u{1F600}abcd"],
    ["the fewest characters", { minLen: 2 }, "\u{1F600}a", "\u{1F600}"],
    ["bytes", { maxBytes: 6 }, "üüü", "üüüa"],
    ["no control character", { pattern: "^\\P{Cc}*$" }, "日本 ü", "a\u0085"],
    ["no NUL", { pattern: "^[^\\x00]*$" }, "a\nb", "a\0"],
    ["a pattern of any kind", { pattern: "^[a-z]+$" }, "abc", "a1"],
    ["one of a list", { in: ["a", "b"] }, "b", "c"],
  ])("%s", (_, rules, within, beyond) => {
    const check = textCheck(rules);
    expect(check(within)).toBeUndefined();
    expect(check(beyond)).toBeTypeOf("string");
  });
});
