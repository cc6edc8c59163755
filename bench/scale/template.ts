import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildContext } from "../../src/assembly/build-context.js";
import { OnHeadMoved, TaskStatus } from "../../src/domain/session.js";
import { TurnStatus } from "../../src/domain/turn.js";
import { type Engine, openEngine } from "../../src/engine.js";
import { createSession } from "../../src/ledger/create-session.js";
import { type RecordedTurn, type RecordTurn, recordTurn } from "../../src/ledger/record-turn.js";
import type { StoredReceipt } from "../../src/storage/assembly/waiting-receipts.js";
import {
  type BranchRow,
  branchShape,
  type HeadMoveRow,
  headMoveShape,
  type MessageRow,
  messageShape,
  type PinRow,
  pinShape,
  type SessionRow,
  sessionShape,
  type TableShape,
  type TurnRow,
  turnShape,
} from "../../src/storage/ledger/rows.js";
import { createLogger } from "../../src/telemetry/logger.js";
import { benchConfig, contextRequest, putAgent, tenantId } from "../assembly-fixture.js";
import { noKey } from "../ledger-fixture.js";
import { heavyTurn, sessionLengths, subAgents } from "./conversation.js";

/** A session as the engine itself wrote it, and the receipt of the context that its last turn answered. */
export interface TemplateSession {
  readonly session: SessionRow;
  readonly branch: BranchRow;
  readonly turns: readonly TurnRow[];
  readonly messages: readonly MessageRow[];
  /** A turn that failed, under the last one. */
  readonly failed: { readonly turn: TurnRow; readonly messages: MessageRow };
  readonly moves: readonly HeadMoveRow[];
  readonly pin: PinRow;
  readonly receipt: StoredReceipt;
  /** The system prompt, the tools and the templates that the receipt names. */
  readonly layers: readonly Buffer[];
}

export const contextTokens = 32_000;

/** A set of sessions, made by the engine in a database of its own, to be copied into others. */
export async function makeTemplates(): Promise<TemplateSession[]> {
  const folder = mkdtempSync(join(tmpdir(), "quire-bench-"));
  const engine = await openEngine(benchConfig(folder), createLogger("silent"));
  try {
    await putAgent(engine);
    for (const index of sessionLengths.keys()) await createTemplate(engine, index);
    await Promise.all(sessionLengths.map((length, index) => converse(engine, index, length)));
    return await Promise.all(sessionLengths.map((_, index) => readTemplate(engine, index)));
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

export function label(index: number): string {
  return `session-${String(index).padStart(6, "0")}`;
}

async function createTemplate({ ledger }: Engine, index: number): Promise<void> {
  const task = { parentTurnId: "", spawningCallId: "", task: "Look it up.", taskStatus: TaskStatus.PENDING };
  const subAgent = subAgents.includes(index) ? { parentSessionId: label(0), ...task } : undefined;
  await createSession(ledger, noKey("CreateSession"), {
    label: label(index),
    workspacePath: "/w",
    metadata: { channel: "chat" },
    subAgent,
  });
}

async function converse(engine: Engine, index: number, length: number): Promise<void> {
  let head = "";
  for (let turn = 1; turn < length; turn++) {
    head = (await appendTurn(engine, label(index), head, index * 1_000_000 + turn)).headTurnId;
  }
  const { rest } = await buildContext(engine.assembly, tenantId, contextRequest(label(index), contextTokens));
  const { model, provider, role, assemblyId } = rest;
  const seed = index * 1_000_000 + length;
  const last = await appendTurn(engine, label(index), head, seed, {
    assembly: {
      assemblyId,
      model,
      provider,
      role,
      parentTurnId: head,
      replay: "as_sent",
      limitTokens: contextTokens,
      compactionId: "",
      activeTurnId: "",
      activeMessages: 0,
      told: [],
    },
  });
  await appendTurn(engine, label(index), last.headTurnId, seed + 1, { status: TurnStatus.FAILED });
}

/** One more turn. */
export function appendTurn(
  { ledger }: Engine,
  session: string,
  parentTurnId: string,
  seed: number,
  further: Partial<RecordTurn> = {},
): Promise<RecordedTurn> {
  return recordTurn(ledger, noKey("RecordTurn"), {
    session,
    parentTurnId,
    onHeadMoved: OnHeadMoved.FAIL,
    details: undefined,
    messages: heavyTurn(seed),
    result: undefined,
    status: TurnStatus.COMPLETED,
    abandonOpenItems: false,
    assemblyId: further.assembly?.assemblyId,
    ...further,
  });
}

async function readTemplate({ database, assembly }: Engine, index: number): Promise<TemplateSession> {
  const read = async <Row>(shape: TableShape<Row>, where: string, value: string) => {
    const text = `SELECT ${shape.columnList} FROM ${shape.table} WHERE ${where} = ?`;
    return (await database.sqlReader.query(text, [value])).map((row) => shape.read(row)!);
  };
  const [session] = await read(sessionShape, "label", label(index));
  const [branch] = await read(branchShape, "id", session!.headBranchId!);
  const written = await read(turnShape, "session_id", session!.id);
  const turns = written.filter(({ depth }) => depth !== null);
  const failed = written.find(({ depth }) => depth === null);
  const [failedMessages] = await read(messageShape, "turn_id", failed!.id);
  const messages = await read(messageShape, "branch_id", branch!.id);
  const moves = await read(headMoveShape, "session_id", session!.id);
  const [pin] = await read(pinShape, "session_id", session!.id);
  const receipt = await assembly.receipts.find(tenantId, pin!.assemblyId);
  const hashes = [receipt!.systemHash, receipt!.toolsHash, receipt!.templatesHash!];
  const layers = await Promise.all(hashes.map((hash) => assembly.receipts.findBlob(tenantId, hash)));
  return {
    session: session!,
    branch: branch!,
    turns: turns.toSorted((a, b) => a.depth! - b.depth!),
    messages: messages.toSorted((a, b) => a.depth! - b.depth!),
    failed: { turn: failed!, messages: failedMessages! },
    moves: moves.toSorted((a, b) => a.sequence - b.sequence),
    pin: pin!,
    receipt: receipt!,
    layers: layers.map((bytes) => bytes!),
  };
}
