import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryCalls } from "../memory/memory-calls.js";
import { entropy } from "../memory/memory-quire.js";
import { failure, startTestServer, type TestServer } from "../support/server.js";

let server: TestServer;
let memory: ReturnType<typeof memoryCalls>;
beforeAll(async () => {
  server = await startTestServer();
  memory = memoryCalls(server.address);
  await memory.insertArchival({ owner: entropy, content: 'Ann said "x-y" AND foo:bar OR NEAR(1) at 5 %.' });
});
afterAll(async () => {
  memory.close();
  await server.stop();
});

const megabyte = 1_048_576;
const hostile: readonly (readonly [string, string])[] = [
  ["operators", '"x-y" AND NOT (foo:bar) OR NEAR(a b, 1) ^term* {terms : x} + -y'],
  ["an open quote", 'foo:bar"'],
  ["SQL", "'; DROP TABLE search_documents; -- $1 ? ?1 :a @b %_\\"],
  ["control characters", "foo\u0000bar\u0001\u0008\u001b[31m\u007f\u0085\u2028\u202e\ufeff bar"],
  ["1 MiB of one letter", "a".repeat(megabyte)],
  ["1 MiB of words", "foo bar ".repeat(megabyte / 8)],
  ["1 MiB of names with joints", "a_b/".repeat(megabyte / 4)],
  ["1 MiB of quotes", '"'.repeat(megabyte)],
  ["1 MiB of marks without a letter", "\u0301".repeat(megabyte / 2)],
  ["1 MiB of dates", "2023-05-08 ".repeat(95_325)],
  ["as many characters as fit, of four bytes each", "\u{1f600}".repeat(megabyte / 4)],
];

test.each(hostile)("any query is answered over the wire: %s", async (_, query) => {
  const { results } = await memory.search({ query });
  expect(results.length).toBeLessThanOrEqual(1);
  // The server goes on, and the text is still there.
  expect((await memory.search({ query: "foo:bar" })).results).toHaveLength(1);
});

test("a query of more than 1 MiB is refused with its field", async () => {
  const refused = await failure(memory.search({ query: "a".repeat(megabyte + 1) }));
  expect(refused).toMatchObject({ reason: "INVALID_FIELD", fields: ["query"] });
});

test("filters are compared as they are, whatever is in them", async () => {
  for (const more of [
    { speaker: "Ann' OR '1'='1" },
    { speaker: "%" },
    { metadata: { "topic') OR 1=1 --": "x", __proto: "y" } },
    { owner: { kind: "OWNER_KIND_AGENT" as const, name: "entropy' --" } },
  ])
    expect((await memory.search({ query: "foo", ...more })).results).toEqual([]);
  expect(await failure(memory.search({ query: "foo", session: "' OR 1=1 --" }))).toMatchObject({
    reason: "SESSION_NOT_FOUND",
  });
});
