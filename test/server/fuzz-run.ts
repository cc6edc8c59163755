import { type Client, status as Code, Metadata, type ServiceError } from "@grpc/grpc-js";
import type { PlanSeal } from "../../src/compaction/jobs/plan-seal.js";
import { CompactionPlan } from "../../src/contract/gen/quire/v1/compaction.js";
import { LedgerServiceService } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { MemoryServiceService } from "../../src/contract/gen/quire/v1/memory_service.js";
import { reasons } from "../../src/errors/reasons.js";
import { codes } from "../../src/server/status.js";
import { openDatabase } from "../../src/storage/driver/database-sync.js";
import { type LedgerCalls, ledgerCalls } from "../ledger/ledger-calls.js";
import { user } from "../support/messages.js";
import { planSealOf } from "../support/plan-seal.js";
import { wireError } from "../support/server.js";
import type { ChildServer } from "./child-server.js";
import { type FuzzRequest, type FuzzScene, fuzzRequest, Random } from "./fuzz-requests.js";

export interface FuzzOutcome {
  readonly codes: Readonly<Record<string, number>>;
  /** Answers that no client should get. */
  readonly unclean: readonly string[];
}

const identity = (bytes: Buffer) => bytes;
/** For what hangs. */
const deadlineMs = 120_000;
const expectedCodes = new Set([
  Code.OK,
  Code.INVALID_ARGUMENT,
  Code.NOT_FOUND,
  Code.ALREADY_EXISTS,
  Code.ABORTED,
  Code.FAILED_PRECONDITION,
  Code.PERMISSION_DENIED,
]);

/** Sends so many malformed requests, some at a time, and says how they ended. */
export async function runFuzz(child: ChildServer, seed: number, count: number): Promise<FuzzOutcome> {
  const calls = ledgerCalls(child.ledger);
  const random = new Random(seed);
  const ended: Record<string, number> = {};
  const unclean: string[] = [];
  const atOnce = 16;
  const seal = planSealOf(child.folder);
  let scene = await newScene(calls, seal);
  for (let index = 0; index < count; index += atOnce) {
    if (index % (4 * atOnce) === 0) scene = await newScene(calls, seal);
    const requests = Array.from({ length: Math.min(atOnce, count - index) }, (_, offset) =>
      fuzzRequest(random, scene, index + offset),
    );
    const problems = await Promise.all(requests.map((request) => send(child.ledger, request, ended)));
    requests.forEach(({ method, kind, bytes }, offset) => {
      const problem = problems[offset];
      if (problem)
        unclean.push(
          `${method}, ${kind}: ${problem} (seed ${seed}, request ${index + offset}, ${bytes.length} bytes)`,
        );
    });
  }
  return { codes: ended, unclean };
}

async function newScene(calls: LedgerCalls, seal: PlanSeal): Promise<FuzzScene> {
  const { id: session } = await calls.session();
  const first = await calls.turn(session, "", [user("a")]);
  const head = await calls.turn(session, first.id, [user("b")]);
  const { turn } = await calls.beginTurn({ session, parentTurnId: head.id, messages: [user("c")] });
  const plan = CompactionPlan.fromPartial({
    anchorTurnId: head.id,
    firstKeptTurnId: head.id,
    maxSummaryTokens: 100,
  });
  const planToken = seal.seal("default", session, plan);
  return { session, headTurnId: head.id, openTurnId: turn!.id, planToken };
}

/** Sends the bytes as they are; says what is wrong with the answer, if anything is. */
export async function send(
  client: Client,
  request: FuzzRequest,
  ended: Record<string, number> = {},
): Promise<string | undefined> {
  const { path, responseStream } = { ...LedgerServiceService, ...MemoryServiceService }[request.method];
  const options = { deadline: Date.now() + deadlineMs };
  const error = await new Promise<ServiceError | undefined>((resolve) => {
    if (!responseStream) {
      client.makeUnaryRequest(path, identity, identity, request.bytes, new Metadata(), options, (refusal) =>
        resolve(refusal ?? undefined),
      );
      return;
    }
    const stream = client.makeServerStreamRequest(
      path,
      identity,
      identity,
      request.bytes,
      new Metadata(),
      options,
    );
    stream.on("data", () => {
      // A watch that was begun would go on.
      resolve(undefined);
      stream.cancel();
    });
    stream.on("end", () => resolve(undefined));
    stream.on("error", (refusal: ServiceError) => resolve(refusal));
  });
  const code = error?.code ?? Code.OK;
  ended[Code[code]] = (ended[Code[code]] ?? 0) + 1;
  if (!error) return undefined;
  if (!expectedCodes.has(code)) return `${Code[code]} ${error.details}`;
  const { reason, domain } = wireError(error);
  const known = reasons.find((entry) => entry === reason);
  return known && codes[known] === code && domain === "quire.v1"
    ? undefined
    : `${Code[code]} with the reason "${reason}"`;
}

/** What is stored and not whole: none, unless a write happened in part. */
export function halfWritten(path: string): readonly unknown[] {
  const database = openDatabase(path);
  try {
    return [
      "SELECT id, 'messages are missing' FROM turns t WHERE message_count <> (SELECT coalesce(sum(m.message_count), 0) FROM messages m WHERE m.turn_id = t.id)",
      "SELECT turn_id, 'messages without a turn' FROM messages m WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = m.turn_id)",
      "SELECT t.id, 'messages in another place' FROM turns t JOIN messages m ON m.turn_id = t.id WHERE m.branch_id IS NOT t.branch_id OR m.depth IS NOT t.depth",
      "SELECT id, 'no parent' FROM turns t WHERE branch_id IS NOT NULL AND parent_turn_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM turns p WHERE p.id = t.parent_turn_id AND p.depth = t.depth - 1)",
      "SELECT id, 'no branch' FROM turns t WHERE branch_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM branches b WHERE b.id = t.branch_id)",
      "SELECT id, 'no head' FROM sessions s WHERE head_turn_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = s.head_turn_id AND t.branch_id = s.head_branch_id AND t.depth = s.head_depth)",
      "SELECT id, 'moves are missing' FROM sessions s WHERE head_sequence <> (SELECT count(*) FROM head_moves h WHERE h.session_id = s.id)",
    ].flatMap((sql) => database.prepare(sql).all());
  } finally {
    database.close();
  }
}
