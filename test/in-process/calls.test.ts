import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { ConfigError, createQuire } from "../../src/index.js";
import { recordedTurn } from "../support/found-turn.js";
import { tempFolder } from "../support/temp-folder.js";
import { collected, contextOf, refusal, seed, testQuire, text } from "./quire-fixture.js";

test("in process: a field out of its bounds is an INVALID_FIELD with its path", async () => {
  const quire = await testQuire();
  const error = await refusal(quire.assembly.buildContext({ context: { session: "", capsule: "atlas" } }));
  expect(error.reason).toBe("INVALID_FIELD");
  expect(error.violations.map(({ field }) => field)).toEqual(["context.session", "context.event"]);
  const streamed = await refusal(collected(quire.assembly.assemble({ context: { session: "" } })));
  expect(streamed.reason).toBe("INVALID_FIELD");
});

test("in process: a broken rule has its reason and field, and nothing is written", async () => {
  const quire = await testQuire();
  await seed(quire, "atlas", 0);
  const parts = [{ content: { $case: "toolResult" as const, value: { callId: "call_9" } } }];
  const messages = [{ role: "MESSAGE_ROLE_TOOL" as const, parts }];
  const error = await refusal(quire.ledger.recordTurn({ session: "atlas", messages }));
  expect(error.reason).toBe("ORPHAN_TOOL_RESULT");
  expect(error.violations[0]?.field).toBe("messages[0].parts[0].tool_result.call_id");
  expect((await quire.ledger.listTurns({ session: "atlas" })).turns).toEqual([]);
});

test("in process: a value that is not of its type is a MALFORMED_REQUEST", async () => {
  const quire = await testQuire();
  const nothing = null as unknown as { session: string };
  expect((await refusal(quire.ledger.getSession(nothing))).reason).toBe("MALFORMED_REQUEST");
  expect((await refusal(quire.ledger.listSessions({ pageSize: -1 }))).reason).toBe("MALFORMED_REQUEST");
});

test("in process: a request id makes a write happen once, and is not for another one", async () => {
  const quire = await testQuire();
  const first = await quire.ledger.createSession({ requestId: "r1", label: "a" });
  expect(await quire.ledger.createSession({ requestId: "r1", label: "a" })).toEqual(first);
  const other = await refusal(quire.ledger.createSession({ requestId: "r1", label: "b" }));
  expect(other.reason).toBe("REQUEST_ID_REUSED");
});

test("in process: a request belongs to the engine once it is given", async () => {
  const quire = await testQuire();
  await seed(quire, "atlas", 0);
  const part = text("as given");
  const recording = quire.ledger.recordTurn({
    session: "atlas",
    messages: [{ role: "MESSAGE_ROLE_USER", parts: [part] }],
    result: { messages: [{ role: "MESSAGE_ROLE_ASSISTANT", parts: [text("yes")] }] },
  });
  part.content.value.text = "changed";
  const { turn } = await recording;
  const { result } = recordedTurn(await quire.ledger.getTurn({ turnId: turn!.id }));
  expect(result?.messages[0]?.parts[0]?.content?.value).toEqual({ text: "as given" });
});

test("in process: signals stop a call: a timeout is DEADLINE_EXCEEDED, an abort CANCELLED", async () => {
  const quire = await testQuire();
  await seed(quire, "atlas", 1);
  const past = AbortSignal.timeout(0);
  await once(past, "abort");
  expect((await refusal(quire.assembly.buildContext(contextOf("atlas"), { signal: past }))).reason).toBe(
    "DEADLINE_EXCEEDED",
  );
  expect(
    (await refusal(quire.ledger.getSession({ session: "atlas" }, { signal: AbortSignal.abort() }))).reason,
  ).toBe("CANCELLED");
  const watch = quire.ledger.watchSession({ session: "atlas" }, { signal: AbortSignal.timeout(50) });
  expect((await refusal(collected(watch))).reason).toBe("DEADLINE_EXCEEDED");
});

test("in process: a setting that cannot be used is a ConfigError", async () => {
  const catalogueFile = join(tempFolder(), "missing.json");
  const database = `file:${join(tempFolder(), "quire.db")}`;
  await expect(createQuire({ database: "nowhere" })).rejects.toThrow(ConfigError);
  await expect(createQuire({ database, catalogueFile })).rejects.toThrow(ConfigError);
});

test("in process: a database that cannot be used is STORAGE_UNAVAILABLE, with the reason and nothing made", async () => {
  const folder = tempFolder();
  const notes = join(folder, "notes.txt");
  writeFileSync(notes, "written by hand");
  const refusals = await Promise.all(
    [`file:${folder}`, `file:${notes}`, "postgresql://u:secret@127.0.0.1:1/quire"].map((database) =>
      refusal(createQuire({ database, logLevel: "silent" })),
    ),
  );
  expect(refusals.map(({ reason, message }) => [reason, message])).toEqual([
    ["STORAGE_UNAVAILABLE", `--database cannot be used: ${folder} is a folder; name a file in it`],
    [
      "STORAGE_UNAVAILABLE",
      `--database cannot be used: ${notes} is not an SQLite database; name another file`,
    ],
    ["STORAGE_UNAVAILABLE", expect.stringContaining("127.0.0.1:1 cannot be reached")],
  ]);
  expect(readdirSync(folder)).toEqual(["notes.txt"]);
});

test("in process: close ends the streams, refuses what follows, and leaves nothing running", async () => {
  const script = fileURLToPath(new URL("closes.mjs", import.meta.url));
  const database = `file:${join(tempFolder(), "quire.db")}`;
  const child = await promisify(execFile)(process.execPath, [script, database], { timeout: 120_000 });
  expect(child.stderr).toBe("");
  expect(child.stdout.trim()).toBe("watching SHUTTING_DOWN SHUTTING_DOWN");
});

test("in process: calls without a pause let timers run and turns be written", async () => {
  const quire = await testQuire();
  await seed(quire, "atlas", 1);
  const event = { content: [text("and now?")] };
  const calls: readonly (() => Promise<unknown>)[] = [
    () => quire.ledger.getSession({ session: "atlas" }),
    () => quire.assembly.countTokens({ texts: ["a"] }),
    () => quire.assembly.buildContext({ context: { session: "atlas", capsule: "atlas", event } }),
    () => collected(quire.ledger.streamHistory({ thread: { $case: "session", value: "atlas" } })),
    () => refusal(quire.ledger.getSession({ session: "nobody" })),
  ];
  for (const [index, call] of calls.entries()) {
    let isWritten = false;
    quire.ledger.createSession({ label: `beside-${index}` }).then(() => {
      isWritten = true;
    });
    // Thousands would pass before anything else, if ever.
    for (let made = 0; !isWritten && made < 50_000; made++) await call();
    expect(isWritten, `${call}`).toBe(true);
  }
});
