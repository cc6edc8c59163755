import { Receipt } from "../../src/contract/gen/quire/v1/assembly.js";
import { systemIds } from "../../src/domain/clock.js";
import { sha256 } from "../../src/domain/hash.js";
import type { Engine } from "../../src/engine.js";
import {
  branchShape,
  headMoveShape,
  messageShape,
  pinShape,
  type SessionRow,
  sessionShape,
  storedAnswerShape,
  type TableShape,
  turnShape,
} from "../../src/storage/ledger/rows.js";
import type { Sql, SqlValue } from "../../src/storage/sql.js";
import { putAgent, tenantId } from "../assembly-fixture.js";
import { progress, seeded } from "../measure.js";
import { sessionLengths, turnsPerSet } from "./conversation.js";
import { label, type TemplateSession } from "./template.js";

/** So many receipts and stored answers of each session are old enough to be swept. */
export const oldPerSession = 8;
const dayUs = 86_400_000_000n;
export const oldUs = BigInt(Date.now()) * 1_000n - 30n * dayUs;
const turnsPerTransaction = 2_000;

/** What a copy of a session is called in its rows. */
export interface Copy {
  readonly template: TemplateSession;
  readonly sessionId: string;
  readonly branchId: string;
  readonly label: string;
  readonly turnIds: string[];
}

/**
 * Copies sets of sessions into an empty database: what the engine would have written if each had been held there, all of them at
 * the same time, so that the turns of one stand far apart. The labels are those of the templates, numbered on.
 */
export async function fillLedger(
  engine: Engine,
  templates: readonly TemplateSession[],
  sets: number,
  name: string,
): Promise<readonly Copy[]> {
  await putAgent(engine);
  const order = shuffledTurns(sets * sessionLengths.length);
  const copies: (Copy | undefined)[] = [];
  for (let from = 0; from < order.length; from += turnsPerTransaction) {
    if (from % 50_000 === 0) progress(`scale: ${name}: ${from.toLocaleString("en")} turns are there`);
    await copyTurns(engine, templates, copies, order.subarray(from, from + turnsPerTransaction));
  }
  await copySessions(engine, copies as Copy[]);
  return copies as Copy[];
}

/** Every session as often as it has turns, in random order. */
function shuffledTurns(sessions: number): Uint32Array {
  const order = new Uint32Array((sessions / sessionLengths.length) * turnsPerSet);
  let at = 0;
  for (let session = 0; session < sessions; session++) {
    const length = sessionLengths[session % sessionLengths.length]!;
    order.fill(session, at, at + length);
    at += length;
  }
  const random = seeded(17);
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other]!, order[last]!];
  }
  return order;
}

async function copyTurns(
  { database }: Engine,
  templates: readonly TemplateSession[],
  copies: (Copy | undefined)[],
  order: Uint32Array,
): Promise<void> {
  const turns = new RowBatch(turnShape);
  const messages = new RowBatch(messageShape);
  const moves = new RowBatch(headMoveShape);
  for (const session of order) {
    copies[session] ??= newCopy(templates, session);
    const { template, sessionId, branchId, turnIds } = copies[session];
    const at = turnIds.length;
    const [id, before] = [systemIds.next(), turnIds.at(-1) ?? null];
    turnIds.push(id);
    turns.add({ ...template.turns[at]!, id, sessionId, branchId, parentTurnId: before });
    messages.add({ ...template.messages[at]!, turnId: id, branchId });
    moves.add({ ...template.moves[at]!, sessionId, fromTurnId: before, toTurnId: id });
  }
  await database.sqlTransaction(async (sql) => {
    for (const batch of [turns, messages, moves]) await batch.insert(sql);
  });
}

function newCopy(templates: readonly TemplateSession[], session: number): Copy {
  const [sessionId, branchId] = [systemIds.next(), systemIds.next()];
  const template = templates[session % templates.length]!;
  return { template, sessionId, branchId, label: label(session), turnIds: [] };
}

async function copySessions({ database }: Engine, copies: readonly Copy[]): Promise<void> {
  const sessions = new RowBatch(sessionShape);
  const branches = new RowBatch(branchShape);
  const turns = new RowBatch(turnShape);
  const messages = new RowBatch(messageShape);
  for (const [index, copy] of copies.entries()) {
    const { template, sessionId, branchId, turnIds } = copy;
    sessions.add(sessionOf(copy, copies[index - (index % sessionLengths.length)]!.sessionId));
    branches.add({ ...template.branch, id: branchId });
    const failedId = systemIds.next();
    const { failed } = template;
    turns.add({ ...failed.turn, id: failedId, sessionId, parentTurnId: turnIds.at(-1)! });
    messages.add({ ...failed.messages, turnId: failedId });
    if (turnIds.length !== template.turns.length) throw new Error("a copy is not whole");
  }
  await database.sqlTransaction(async (sql) => {
    for (const batch of [sessions, branches, turns, messages]) await batch.insert(sql);
  });
}

function sessionOf({ template, sessionId, branchId, label, turnIds }: Copy, firstOfSet: string): SessionRow {
  const { session } = template;
  const isSubAgent = session.parentSessionId !== null;
  return {
    ...session,
    id: sessionId,
    label,
    headBranchId: branchId,
    headTurnId: turnIds.at(-1)!,
    parentSessionId: isSubAgent ? firstOfSet : null,
  };
}

/**
 * The receipt that each session's last turn answered, and older ones, each session with a system prompt of its own; and the stored
 * answers of as many requests.
 */
export async function fillReceipts(engine: Engine, copies: readonly Copy[]): Promise<void> {
  const pins = new RowBatch(pinShape);
  const answers = new RowBatch(storedAnswerShape);
  const { receipts } = engine.assembly;
  for (const { template, sessionId, turnIds } of copies) {
    const { receipt, pin, layers } = template;
    const prompt = Buffer.concat([layers[0]!, Buffer.from(sessionId)]);
    const own = { ...receipt, sessionId, systemHash: sha256(prompt) };
    const assemblyId = systemIds.next();
    const wire = Receipt.encode({ ...Receipt.decode(receipt.wire), assemblyId, sessionId }).finish();
    receipts.add({ ...own, id: assemblyId, wire: Buffer.from(wire) }, [prompt, ...layers.slice(1)]);
    for (let at = 0; at < oldPerSession; at++) {
      receipts.add({ ...own, id: systemIds.next(), createdUs: oldUs }, [prompt, ...layers.slice(1)]);
      answers.add({
        tenantId,
        method: "RecordTurn",
        requestId: `${sessionId}/${at}`,
        requestHash: template.turns[0]!.contentHash!,
        answer: Buffer.concat(Array(12).fill(template.turns[0]!.contentHash!)),
        sessionId,
        createdUs: oldUs,
      });
    }
    pins.add({ ...pin, sessionId, assemblyId, turnId: turnIds.at(-1)! });
    if (receipts.bytes > receipts.maxBytes / 2) await receipts.flush();
  }
  await receipts.flush();
  await engine.database.sqlTransaction(async (sql) => {
    for (const batch of [pins, answers]) await batch.insert(sql);
  });
}

const rowsPerStatement = 50;

/** Rows of one table on their way into it. */
class RowBatch<Row> {
  private readonly rows: Row[] = [];

  constructor(private readonly shape: TableShape<Row>) {}

  add(row: Row): void {
    this.rows.push(row);
  }

  async insert(sql: Sql): Promise<void> {
    for (let at = 0; at < this.rows.length; at += rowsPerStatement) {
      const some = this.rows.slice(at, at + rowsPerStatement);
      const args: SqlValue[] = [];
      for (const row of some) this.shape.args(row, args);
      await sql.execute(this.shape.insertSql(some.length, sql.dialect), args);
    }
  }
}
