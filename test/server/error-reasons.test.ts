import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { status as Code, credentials, type ServiceError } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { ErrorReason } from "../../src/contract/gen/quire/v1/error_reason.js";
import { OnBusy, RecordTurnRequest, TurnScope } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { BodyFormat } from "../../src/contract/gen/quire/v1/rendering.js";
import { ProviderResponse } from "../../src/contract/gen/quire/v1/response.js";
import { TaskStatus } from "../../src/contract/gen/quire/v1/session.js";
import { PutSourceRequest, SourceServiceClient } from "../../src/contract/gen/quire/v1/source_service.js";
import type { Turn } from "../../src/contract/gen/quire/v1/turn.js";
import { QuireError } from "../../src/errors/quire-error.js";
import { type Reason, reasons } from "../../src/errors/reasons.js";
import { codes, toServiceError } from "../../src/server/status.js";
import { openDatabase } from "../../src/storage/driver/database-sync.js";
import { SqliteConnection } from "../../src/storage/driver/sqlite-connection.js";
import { allTurns, type LedgerCalls, ledgerCalls } from "../ledger/ledger-calls.js";
import { decides } from "../ledger/message-parts.js";
import { type MemoryCalls, memoryCalls } from "../memory/memory-calls.js";
import { gate } from "../support/gate.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { startModelServer } from "../support/model-server.js";
import { failure, startTestServer, type TestServer, type WireError, wireError } from "../support/server.js";
import { AssemblyCalls } from "./assembly-reasons.js";
import { blockCases } from "./block-reasons.js";
import { CapturedLog, type LogLine } from "./captured-log.js";
import { startChildServer } from "./child-server.js";
import { rawUnary } from "./raw-call.js";
import { framed, RawConnection } from "./raw-connection.js";

const noTurn = "0198c0de-0000-7000-8000-000000000001";

let server: TestServer;
let ledger: LedgerCalls;
let assembly: AssemblyCalls;
let memory: MemoryCalls;
let sourceClient: SourceServiceClient;
let log: CapturedLog;

beforeAll(async () => {
  log = new CapturedLog();
  server = await startTestServer({}, log.logger);
  ledger = ledgerCalls(server.ledger);
  assembly = new AssemblyCalls(server);
  memory = memoryCalls(server.address);
  sourceClient = new SourceServiceClient(server.address, credentials.createInsecure());
});

afterAll(async () => {
  assembly.close();
  memory.close();
  sourceClient.close();
  await server.stop();
});

/** Everything that a client can see of what is stored. */
async function snapshot(calls: LedgerCalls): Promise<string> {
  const { sessions } = await calls.listSessions({ pageSize: 1_000 });
  const turns: Turn[] = [];
  for (const { id } of sessions)
    turns.push(...(await allTurns(calls, { session: id, scope: TurnScope.WRITTEN })));
  return JSON.stringify({ sessions, turns });
}

/** What a refused call showed, and what was stored before and after it. */
interface Evidence {
  readonly error: WireError;
  readonly before: string;
  readonly after: string;
  /** The server's own word, for calls whose client was gone before an answer could reach it. */
  readonly log?: LogLine;
}

interface Case {
  /** The fields that the BadRequest names. */
  readonly fields?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  provoke(): Promise<Evidence>;
}

interface Scene {
  /** A session of the case's own, with one turn. */
  readonly session: string;
  readonly head: string;
}

/** A case on the common server: the scene is set, then one call is refused. */
function refused(
  expected: Omit<Case, "provoke">,
  arrange: (scene: Scene) => Promise<() => Promise<unknown>>,
): Case {
  const provoke = async () => {
    const { id: session } = await ledger.session();
    const { id: head } = await ledger.turn(session, "", [user("hello"), assistant("hello")]);
    const act = await arrange({ session, head });
    const before = await snapshot(ledger);
    const error = await failure(act());
    return { error, before, after: await snapshot(ledger) };
  };
  return { ...expected, provoke };
}

function unary(call: (done: (error: ServiceError | null) => void) => unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => (error ? reject(error) : resolve()));
  });
}

/** A turn whose messages are refused. */
function refusedMessages(
  field: string,
  metadata: Readonly<Record<string, string>>,
  messages: Parameters<LedgerCalls["turn"]>[2],
): Case {
  return refused(
    { fields: [field], metadata: { field, ...metadata } },
    async ({ session, head }) =>
      () =>
        ledger.turn(session, head, messages),
  );
}

const cases: { readonly [Key in Reason]: Case } = {
  INVALID_FIELD: refused(
    { fields: ["label", "metadata key"], metadata: { field: "label" } },
    async () => () => ledger.createSession({ label: "x".repeat(257), metadata: { "": "y" } }),
  ),
  RESPONSE_UNREADABLE: refused(
    { fields: ["response.body"], metadata: { field: "response.body", path: "content[0].text" } },
    async ({ session, head }) =>
      () =>
        ledger.recordTurn({
          session,
          parentTurnId: head,
          messages: [user("Hello.")],
          response: ProviderResponse.create({
            format: BodyFormat.ANTHROPIC_MESSAGES,
            body: Buffer.from('{"content":[{"type":"text"}]}'),
          }),
        }),
  ),
  MALFORMED_REQUEST: refused(
    { metadata: { method: "RecordTurn" } },
    async () => () => sendBytes("RecordTurn", "ff"),
  ),
  PAGE_TOKEN_INVALID: refused(
    { fields: ["page_token"], metadata: { field: "page_token" } },
    async ({ session }) =>
      () =>
        ledger.listTurns({ session, pageToken: "guess" }),
  ),
  SESSION_NOT_FOUND: refused(
    { metadata: { session: "nobody" } },
    async () => () => ledger.getSession({ session: "nobody" }),
  ),
  TURN_NOT_FOUND: refused(
    { metadata: { turn_id: noTurn } },
    async () => () => ledger.getTurn({ turnId: noTurn }),
  ),
  ALIAS_NOT_FOUND: refused(
    { metadata: { alias: "nothing" } },
    async () => () => ledger.unaliasSession({ alias: "nothing" }),
  ),
  LABEL_TAKEN: refused({ fields: ["label"], metadata: { label: "taken" } }, async ({ session }) => {
    await ledger.updateSession({ session, label: "taken" });
    return () => ledger.createSession({ label: "taken" });
  }),
  ALIAS_TAKEN: refused({ fields: ["alias"], metadata: { alias: "today" } }, async ({ session }) => {
    await ledger.aliasSession({ alias: "today", session });
    const other = await ledger.session();
    return () => ledger.aliasSession({ alias: "today", session: other.id });
  }),
  REQUEST_ID_REUSED: refused(
    { fields: ["request_id"], metadata: { request_id: "r-1", method: "RecordTurn" } },
    async ({ session, head }) => {
      const { turn } = await ledger.recordTurn({
        requestId: "r-1",
        session,
        parentTurnId: head,
        messages: [user("a")],
      });
      return () =>
        ledger.recordTurn({ requestId: "r-1", session, parentTurnId: turn!.id, messages: [user("b")] });
    },
  ),
  HEAD_MOVED: refused(
    { fields: ["parent_turn_id"], metadata: { head_turn_id: expect.stringMatching(/^[0-9a-f-]{36}$/) } },
    async ({ session, head }) => {
      await ledger.turn(session, head, [user("someone was faster")]);
      return () => ledger.turn(session, head, [user("too late")]);
    },
  ),
  UNKNOWN_PARENT: refused(
    { fields: ["parent_turn_id"], metadata: { field: "parent_turn_id" } },
    async ({ session }) =>
      () =>
        ledger.turn(session, noTurn, [user("x")]),
  ),
  PARENT_NOT_FINISHED: refused(
    { fields: ["parent_turn_id"], metadata: { field: "parent_turn_id", status: "OPEN" } },
    async (scene) => {
      const open = await openTurn(scene);
      return () => ledger.beginTurn({ session: scene.session, parentTurnId: open.id });
    },
  ),
  TURN_NOT_FINISHED: refused({ metadata: { status: "FAILED" } }, async ({ session, head }) => {
    const failed = await ledger.turn(session, head, [user("x")], { status: "TURN_STATUS_FAILED" });
    return () => ledger.forkSession({ at: { $case: "turnId", value: failed.id } });
  }),
  TURN_NOT_OPEN: refused(
    { metadata: { status: "COMPLETED" } },
    async ({ head }) =>
      () =>
        ledger.appendMessages({ turnId: head, messages: [user("x")] }),
  ),
  TURN_EMPTY: refused({ metadata: { turn_id: expect.any(String) } }, async ({ session, head }) => {
    const { turn } = await ledger.beginTurn({ session, parentTurnId: head });
    return () => ledger.completeTurn({ turnId: turn!.id });
  }),
  MESSAGE_COUNT_MISMATCH: refused({ metadata: { message_count: "1" } }, async (scene) => {
    const { id: turnId } = await openTurn(scene);
    return () => ledger.appendMessages({ turnId, messages: [user("x")], expectedMessageCount: 4 });
  }),
  BAD_ROLE_ORDER: refusedMessages("messages[0].role", {}, [assistant("x")]),
  PART_NOT_ALLOWED: refusedMessages("messages[1].parts[0].tool_call", {}, [
    user("x"),
    { ...toolCalls("call_1"), role: "MESSAGE_ROLE_USER" },
  ]),
  ORPHAN_TOOL_RESULT: refusedMessages("messages[1].parts[0].tool_result.call_id", { call_id: "call_9" }, [
    user("x"),
    toolResults("call_9"),
  ]),
  ORPHAN_APPROVAL_ANSWER: refusedMessages(
    "messages[0].parts[0].approval_answer.approval_id",
    { approval_id: "ask_9" },
    [decides("ask_9")],
  ),
  DUPLICATE_ANSWER: refusedMessages("messages[2].parts[1].tool_result.call_id", { call_id: "call_1" }, [
    user("x"),
    toolCalls("call_1"),
    toolResults("call_1", "call_1"),
  ]),
  DUPLICATE_CALL: refusedMessages("messages[1].parts[1].tool_call.call_id", { call_id: "call_1" }, [
    user("x"),
    toolCalls("call_1", "call_1"),
  ]),
  UNANSWERED_CALLS: refusedMessages("messages[1]", { open_items: "call_1,call_2" }, [
    user("x"),
    toolCalls("call_1", "call_2"),
  ]),
  SESSION_BUSY: refused(
    {
      metadata: {
        session_id: expect.any(String),
        turn_id: expect.any(String),
        holder: "web-2",
        expire_time: expect.stringMatching(/^2\d{3}-.*Z$/),
      },
    },
    async ({ session, head }) => {
      await ledger.beginTurn({ session, lease: { seconds: 3_600, holder: "web-2" } });
      return () => ledger.turn(session, head, [user("x")]);
    },
  ),
  INTERRUPTED: refused(
    { metadata: { turn_id: expect.any(String), by_turn_id: expect.any(String), status: "COMPLETED" } },
    async ({ session }) => {
      const { turn } = await ledger.beginTurn({ session, lease: {}, messages: [user("x")] });
      await ledger.beginTurn({ session, lease: { onBusy: OnBusy.INTERRUPT } });
      return () => ledger.appendMessages({ turnId: turn!.id, messages: [assistant("too late")] });
    },
  ),
  LEASE_LOST: refused({ metadata: { turn_id: expect.any(String) } }, async ({ session, head }) => {
    const { turn } = await ledger.beginTurn({ session, parentTurnId: head });
    return () => ledger.renewLease({ turnId: turn!.id });
  }),
  SOURCE_NOT_FOUND: refused(
    { metadata: { source: "nobody" } },
    async () => () => unary((done) => sourceClient.getSource({ name: "nobody" }, done)),
  ),
  SOURCE_ADDRESS_NOT_ALLOWED: refused(
    { metadata: { address: "10.0.0.7:7070" } },
    async () => () =>
      unary((done) =>
        sourceClient.putSource(
          PutSourceRequest.fromPartial({ source: { name: "far", endpoint: { address: "10.0.0.7:7070" } } }),
          done,
        ),
      ),
  ),
  NO_TASK: refused(
    { metadata: { session: expect.any(String) } },
    async ({ session }) =>
      () =>
        ledger.updateSession({ session, taskStatus: TaskStatus.RUNNING }),
  ),
  CANCELLED: { provoke: () => interrupt(cancelWrite) },
  DEADLINE_EXCEEDED: { provoke: () => interrupt(outlastDeadline) },
  SHUTTING_DOWN: { provoke: stopUnderWrite },
  SERVER_BUSY: { metadata: { limit: "bytes_in_flight", max: "131072" }, provoke: fillUp },
  STORAGE_UNAVAILABLE: { provoke: fillDisk },
  INTERNAL: { metadata: { incident: expect.stringMatching(/^[0-9a-f-]{36}$/) }, provoke: corruptRow },
  CAPSULE_NOT_FOUND: refused(
    { metadata: { capsule: "nobody" } },
    async () => () => assembly.getCapsule("nobody"),
  ),
  VERSION_MISMATCH: refused({ fields: ["expected_version"], metadata: { version: "1" } }, async () => {
    await assembly.putCapsule("versioned");
    return () => assembly.putCapsule("versioned", 5, 4);
  }),
  LEARNING_DISABLED: refused({ metadata: { capsule: "settled" } }, async () => {
    await assembly.putCapsule("settled");
    return () => assembly.recordOutcome("settled");
  }),
  WORKSPACE_NOT_FOUND: refused(
    { metadata: { workspace: "nowhere" } },
    async () => () => assembly.getWorkspace("nowhere"),
  ),
  DOCUMENT_NOT_FOUND: refused({ metadata: { path: "SOUL.md" } }, async () => {
    await assembly.putWorkspace("bare");
    return () => assembly.getDocument("bare", "SOUL.md");
  }),
  TOOLSET_NOT_FOUND: refused({ metadata: { toolset: "none" } }, async () => {
    await assembly.putWorkspace("toolless");
    return () => assembly.getToolset("toolless", "none");
  }),
  LANE_EXCEEDED: refused({ metadata: { lane: "system", limit: expect.any(String) } }, async ({ session }) => {
    await assembly.putCapsule("wordy", 500);
    const settings = { policy: "BUDGET_POLICY_STRICT_FAIL" as const };
    return () => assembly.build({ session, capsule: "wordy", settings, maxContextTokens: 1_000 });
  }),
  CONTEXT_TOO_LARGE: refused({ metadata: { available: "500", tools: "0" } }, async ({ session }) => {
    await assembly.putCapsule("endless", 2_000);
    return () => assembly.build({ session, capsule: "endless", maxContextTokens: 500 });
  }),
  RECEIPT_NOT_FOUND: refused(
    { metadata: { assembly_id: noTurn } },
    async () => () => assembly.getReceipt(noTurn),
  ),
  RECEIPT_EXPIRED: refused({ metadata: { assembly_id: expect.any(String) } }, async ({ session }) => {
    await assembly.putCapsule("forgotten");
    const { context } = await assembly.build({ session, capsule: "forgotten" });
    await assembly.dropLayers();
    return () => assembly.replay(context!.assemblyId);
  }),
  NOTHING_TO_COMPACT: refused({ metadata: { session: expect.any(String) } }, async ({ session }) => {
    return () => ledger.compact({ session });
  }),
  COMPACTION_FAILED: refused(
    { metadata: { openai: "is not configured on this server" } },
    async ({ session, head }) => {
      await longThread(session, head);
      return () => ledger.compact({ session, keepTurns: 1, summarizers: { names: ["openai"] } });
    },
  ),
  COMPACTION_OUTDATED: refused(
    { metadata: { compaction_id: expect.any(String) } },
    async ({ session, head }) => {
      await longThread(session, head);
      const planToken = await assembly.planToken(session);
      await ledger.compact({ session, keepTurns: 1 });
      const summary = "Somebody was faster with the order W1234567.";
      return () => ledger.submitCompaction({ session, planToken, summary });
    },
  ),
  SUMMARY_REFUSED: refused(
    { fields: ["summary"], metadata: { field: "summary", why: "is empty" } },
    async ({ session, head }) => {
      await longThread(session, head);
      const planToken = await assembly.planToken(session);
      return () => ledger.submitCompaction({ session, planToken, summary: " " });
    },
  ),
  OVERFLOW_UNRECOVERABLE: refused({ metadata: { session_id: expect.any(String) } }, async ({ session }) => {
    await assembly.putCapsule("short");
    const { context } = await assembly.build({ session, capsule: "short" });
    return () => assembly.reportOverflow(context!.assemblyId);
  }),
  LIMIT_REACHED: refused({ metadata: { limit: "aliases", max: "1000" } }, async ({ session }) => {
    const database = openDatabase(join(server.folder, "quire.db"));
    database
      .prepare("INSERT INTO session_aliases SELECT 'default', 'name-' || value, ?, 0 FROM json_each(?)")
      .run(session, JSON.stringify(Array.from({ length: 1_000 }, (_, index) => index)));
    database.close();
    return () => ledger.aliasSession({ alias: "one too many", session });
  }),
  RESPONSE_TOO_LARGE: refused(
    { metadata: { max: "4194304", use: "StreamHistory", bytes: expect.stringMatching(/^52\d{5}$/) } },
    async ({ session, head }) => {
      const source = { $case: "data" as const, value: Buffer.alloc(1024 * 1024, 7) };
      const picture = { content: { $case: "image" as const, value: { source, mediaType: "image/png" } } };
      const pictures = Array.from({ length: 5 }, () => ({ ...user("x"), parts: [picture] }));
      const { id } = await ledger.turn(session, head, pictures);
      return () => ledger.getTurn({ turnId: id });
    },
  ),
  DATABASE_LOST: { metadata: { why: "deleted" }, provoke: deleteDatabase },
  COMMIT_OUTCOME_UNKNOWN: { provoke: failToSync },
  ...blockCases(() => memory, refused),
};

/** So many turns under a head; the id of the last. */
async function longThread(session: string, head: string, turns = 8, calls = ledger): Promise<string> {
  let parentTurnId = head;
  for (let at = 0; at < turns; at++) {
    const messages = [
      user(`Question ${at}: ${"what is the state of the order W1234567, please? ".repeat(8)}`),
    ];
    const result = {
      messages: [assistant(`Answer ${at}: ${"it is on its way, and will be there soon. ".repeat(8)}`)],
    };
    const { turn } = await calls.recordTurn({ session, parentTurnId, messages, result });
    parentTurnId = turn!.id;
  }
  return parentTurnId;
}

async function openTurn({ session, head }: Scene): Promise<Turn> {
  return (await ledger.beginTurn({ session, parentTurnId: head, messages: [user("open")] })).turn!;
}

function sendBytes(method: string, hex: string): Promise<Buffer> {
  const identity = (bytes: Buffer) => bytes;
  const path = `/quire.v1.LedgerService/${method}`;
  return new Promise((resolve, reject) => {
    server.ledger.makeUnaryRequest(path, identity, identity, Buffer.from(hex, "hex"), (error, answer) =>
      error ? reject(error) : resolve(answer!),
    );
  });
}

/** A write that is stopped while it waits behind another one. Its answer reaches no one: the log has it. */
async function interrupt(
  send: (request: RecordTurnRequest) => Promise<Pick<WireError, "code" | "message">>,
): Promise<Evidence> {
  const { id: session } = await ledger.session();
  const before = await snapshot(ledger);
  const known = log.text.length;
  const release = await holdWrites(session);
  const error = await send(RecordTurnRequest.create({ session, messages: [user("waits in line")] }));
  await release();
  const line = await log.find((entry) => entry.method === "RecordTurn", known);
  const unseen = { reason: "", domain: "", metadata: {}, fields: [], retry: false };
  return { error: { ...unseen, ...error }, before, after: await snapshot(ledger), log: line };
}

/** Another holds the database, and a write, of which nothing comes, waits for it. */
async function holdWrites(session: string): Promise<() => Promise<void>> {
  const other = openDatabase(join(server.folder, "quire.db"));
  other.exec("BEGIN IMMEDIATE");
  const first = failure(ledger.appendMessages({ turnId: noTurn, messages: [user("to nobody")] }));
  await arrived(session);
  return async () => {
    other.exec("ROLLBACK");
    other.close();
    await first;
  };
}

/** Calls of one connection are heard in their order: when this one is answered, the server knows of what was sent before. */
async function arrived(session: string): Promise<void> {
  await ledger.getSession({ session });
}

async function cancelWrite(request: RecordTurnRequest): Promise<WireError> {
  let cancel = (): void => undefined;
  const cancelled = new Promise<WireError>((resolve) => {
    const call = server.ledger.recordTurn(request, (error) => resolve(wireError(error)));
    cancel = () => call.cancel();
  });
  await arrived(request.session);
  cancel();
  await arrived(request.session);
  return cancelled;
}

/** By a client without a clock of its own: grpc-js would cancel a moment before the server sees that the time is up. */
function outlastDeadline(request: RecordTurnRequest) {
  return rawUnary(server.address, "RecordTurn", RecordTurnRequest.encode(request).finish(), {
    "grpc-timeout": "400m",
  });
}

/** A write that still runs when the grace time is over: the model that it asks does not answer. */
async function stopUnderWrite(): Promise<Evidence> {
  const database = `file:${join(server.folder, "stopped.db")}`;
  const asked = gate();
  const model = await startModelServer(() => {
    asked.open();
    return { hang: "before headers" };
  });
  onTestFinished(() => model.close());
  const summarizer = { summarizerOpenaiUrl: model.baseUrl("openai"), summarizerOpenaiModel: "m" };
  const first = await startTestServer({ database, shutdownGraceMs: 100, ...summarizer });
  const calls = ledgerCalls(first.ledger);
  const { id: session } = await calls.session();
  await longThread(session, "", 4, calls);
  const before = await snapshot(calls);
  const write = failure(calls.compact({ session, summarizers: { names: ["openai"] }, keepTurns: 1 }));
  await asked.passed;
  const stopped = first.stop();
  const error = await write;
  await stopped;
  const second = await startTestServer({ database });
  onTestFinished(() => second.stop());
  return { error, before, after: await snapshot(ledgerCalls(second.ledger)) };
}

/** Two requests that do not come take the room there is, and the room to wait. */
async function fillUp(): Promise<Evidence> {
  const own = await startTestServer({ maxBytesInFlight: 131_072 });
  onTestFinished(() => own.stop());
  const calls = ledgerCalls(own.ledger);
  const { id: session } = await calls.session();
  const connection = await RawConnection.open(own.address);
  onTestFinished(() => connection.close());
  for (let index = 0; index < 2; index++) {
    connection.start("RecordTurn").write(framed(Buffer.alloc(10), { declared: 70_000 }));
  }
  await connection.seen();
  const before = await snapshot(calls);
  const error = await failure(calls.turn(session, "", [user("x".repeat(70_000))]));
  return { error, before, after: await snapshot(calls) };
}

/** A server that may write no file larger than 8 MB, which the log of its database is soon. */
async function fillDisk(): Promise<Evidence> {
  const child = await startChildServer({ maxFileBlocks: (8 * 1024 * 1024) / 512 });
  onTestFinished(() => child.stop());
  const calls = ledgerCalls(child.ledger);
  const { id: session } = await calls.session();
  const { id: head } = await calls.turn(session, "", [user("small")]);
  const before = await snapshot(calls);
  const data = randomBytes(1024 * 1024);
  const image = {
    content: {
      $case: "image" as const,
      value: { source: { $case: "data" as const, value: data }, mediaType: "image/png" },
    },
  };
  const error = await failure(calls.turn(session, head, [{ ...user(""), parts: Array(10).fill(image) }]));
  const after = await snapshot(calls);
  await calls.turn(session, head, [user("what is small still fits")]);
  return { error, before, after };
}

/** A server whose database file is gone. */
async function deleteDatabase(): Promise<Evidence> {
  const own = await startTestServer();
  onTestFinished(() => own.stop());
  const calls = ledgerCalls(own.ledger);
  const { id: session } = await calls.session();
  const before = await snapshot(calls);
  await rm(join(own.folder, "quire.db"));
  const error = await failure(calls.turn(session, "", [user("into nothing")]));
  return { error, before, after: await snapshot(calls) };
}

/** A disk that does not confirm commits, for a while. The same request, sent again, is done once. */
async function failToSync(): Promise<Evidence> {
  const own = await startTestServer();
  onTestFinished(() => own.stop());
  const calls = ledgerCalls(own.ledger);
  const { id: session } = await calls.session();
  const before = await snapshot(calls);
  const { execute } = SqliteConnection.prototype;
  const broken = vi.spyOn(SqliteConnection.prototype, "execute").mockImplementation(function (
    this: SqliteConnection,
    query,
  ) {
    if (query.sql === "COMMIT") throw Object.assign(new Error("disk I/O error"), { errcode: 1034 });
    return execute.call(this, query);
  });
  const request = { requestId: "sure", session, messages: [user("once")] };
  const error = await failure(calls.recordTurn(request));
  broken.mockRestore();
  expect(error.message).toContain("the same request_id tells");
  const after = await snapshot(calls);
  const { turn } = await calls.recordTurn(request);
  expect((await calls.recordTurn(request)).turn).toEqual(turn);
  expect(await allTurns(calls, { session, scope: TurnScope.WRITTEN })).toHaveLength(1);
  return { error, before, after };
}

/** A stored row that no version of Quire writes. What it holds must not get into the log. */
async function corruptRow(): Promise<Evidence> {
  const { id: session } = await ledger.session();
  const { id: head } = await ledger.turn(session, "", [user("hello")]);
  const before = await snapshot(ledger);
  const database = openDatabase(join(server.folder, "quire.db"));
  const write = (json: string) =>
    database.prepare("UPDATE turns SET open_state_json = ? WHERE id = ?").run(json, head);
  try {
    write("SECRET that is no JSON");
    const error = await failure(ledger.turn(session, head, [user("x")]));
    write('{"open":[]}');
    const line = await log.find((entry) => entry.incident !== undefined);
    expect(line).toMatchObject({ level: "error", method: "RecordTurn", reason: "INTERNAL" });
    expect(line.incident).toBe(error.metadata.incident);
    expect(line.cause?.name).toBe("SyntaxError");
    expect(line.cause?.stack).toContain("open-state");
    expect(JSON.stringify(line)).not.toContain("SECRET");
    return { error, before, after: await snapshot(ledger) };
  } finally {
    database.close();
  }
}

/** What the contract says of a reason: the text of its comment and the example in it. */
interface Documented {
  readonly reason: string;
  readonly text: string;
  readonly example: {
    readonly reason: string;
    readonly domain: string;
    readonly metadata?: Record<string, string>;
  };
}

const proto = readFileSync(join(packageRoot, "proto", "quire", "v1", "error_reason.proto"), "utf8");
const documented = new Map(
  [...proto.matchAll(/((?: *\/\/.*\n)+) *ERROR_REASON_(\w+) = [1-9]\d*;/g)].map(([, comment, reason]) => {
    const lines = comment!.split("\n").map((line) => line.replace(/^ *\/\/ ?/, ""));
    const at = lines.indexOf("");
    const example = JSON.parse(lines.slice(at).join("\n")) as Documented["example"];
    const entry: Documented = { reason: reason!, text: lines.slice(0, at).join(" "), example };
    return [reason!, entry];
  }),
);

describe("error reasons: the contract, the code and the mapping list the same", () => {
  test("error_reason.proto has exactly the reasons of the code, in their order", () => {
    expect([...documented.keys()]).toEqual([...reasons]);
    const generated = Object.keys(ErrorReason).filter(
      (name) => name !== "UNSPECIFIED" && name !== "UNRECOGNIZED",
    );
    expect(generated).toEqual([...reasons]);
  });

  test("every reason has a case here, and a gRPC code", () => {
    expect(Object.keys(cases).sort()).toEqual([...reasons].sort());
    expect(Object.keys(codes).sort()).toEqual([...reasons].sort());
  });

  test.each(
    reasons,
  )("%s: the comment names the code that the server sends, and its example is of the reason", (reason) => {
    const { text, example } = documented.get(reason)!;
    expect(text).toMatch(
      new RegExp(`^ERROR_REASON_${reason} \\(${Code[codes[reason]]}(, with RetryInfo)?\\) means `),
    );
    expect(example).toMatchObject({ reason, domain: "quire.v1" });
    const mapped = wireError(
      toServiceError(new QuireError(reason, "words", { metadata: example.metadata ?? {} })),
    );
    expect(mapped).toMatchObject({ code: codes[reason], message: "words", ...example });
  });
});

describe("error reasons: each over the wire", () => {
  test.each(reasons)("%s", async (reason) => {
    const { text, example } = documented.get(reason)!;
    const { error, before, after, log: line } = await cases[reason].provoke();
    expect(after).toBe(before);
    expect(error.code).toBe(codes[reason]);
    if (line) {
      expect(line.reason).toBe(reason);
      return;
    }
    expect(error).toMatchObject({ reason, domain: "quire.v1" });
    expect(Object.keys(error.metadata).sort()).toEqual(Object.keys(example.metadata ?? {}).sort());
    expect(error.metadata).toMatchObject(cases[reason].metadata ?? {});
    expect(error.fields).toEqual(cases[reason].fields ?? []);
    expect(error.retry).toBe(text.includes("with RetryInfo"));
    expect(error.message).not.toMatch(/\bat .*:\d+|node_modules|prisma|sqlite/i);
  });
});
