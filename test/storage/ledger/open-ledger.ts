import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import * as wire from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { QuireError } from "../../../src/errors/quire-error.js";
import type { Reason } from "../../../src/errors/reasons.js";
import { appendMessages } from "../../../src/ledger/append-messages.js";
import { beginTurn } from "../../../src/ledger/begin-turn.js";
import { completeTurn } from "../../../src/ledger/complete-turn.js";
import { createSession } from "../../../src/ledger/create-session.js";
import type { LedgerDeps } from "../../../src/ledger/deps.js";
import { forkSession } from "../../../src/ledger/fork-session.js";
import { createLedger, type LedgerOptions } from "../../../src/ledger/ledger.js";
import { recordTurn } from "../../../src/ledger/record-turn.js";
import { aliasSession, deleteSession, updateSession } from "../../../src/ledger/sessions.js";
import { methodsOf } from "../../../src/server/method.js";
import { writeKey } from "../../../src/server/write-key.js";
import { type Database, openDatabase } from "../../../src/storage/database.js";
import { TokenCounter } from "../../../src/tokens/token-counter.js";
import { user } from "../../support/messages.js";
import { tempFolder } from "../../support/temp-folder.js";

const tenantId = "default";
const methods = methodsOf(wire.LedgerServiceDefinition);
const tables = ["sessions", "branches", "turns", "messages", "head_moves", "stored_answers"];

/** The ledger's commands in process, on a database, without a server before them. */
export class OpenLedger {
  /** How many transactions the writer of turns has begun. */
  transactions = 0;
  readonly deps: LedgerDeps;
  readonly database: Database;

  constructor(
    database: Database,
    options: Partial<Pick<LedgerOptions, "watchPollMs" | "onWatchFailure" | "clock" | "timers">> = {},
  ) {
    this.database = database;
    this.deps = createLedger({
      database: {
        ...database,
        sqlTransaction: (work) => {
          this.transactions++;
          return database.sqlTransaction(work);
        },
      },
      counter: new TokenCounter(),
      historyCacheBytes: 0,
      watchPollMs: 100,
      ...options,
    });
  }

  static async on(url: string, timeoutMs = 30_000): Promise<OpenLedger> {
    return new OpenLedger(await openDatabase({ url, poolSize: 8, timeoutMs }));
  }

  async close(): Promise<void> {
    await this.deps.watches.close();
    await this.deps.writer.idle();
    await this.database.close();
  }

  /** Forgets everything, so that the next test finds an empty ledger. */
  async clear(): Promise<void> {
    await this.database.sqlTransaction(async (sql) => {
      for (const table of [...tables, "session_aliases", "erasure_epochs"])
        await sql.execute(`DELETE FROM ${table}`, []);
    });
    this.transactions = 0;
  }

  record(request: Partial<wire.RecordTurnRequest>, signal?: AbortSignal) {
    const whole = wire.RecordTurnRequest.create({ messages: [user("hello")], ...request });
    const key = writeKey(methods.recordTurn, tenantId, whole);
    return recordTurn(this.deps, key, { ...whole, parentTurnId: whole.parentTurnId ?? "" }, signal);
  }

  begin(request: Partial<wire.BeginTurnRequest>, signal?: AbortSignal) {
    const whole = wire.BeginTurnRequest.create({ messages: [user("hello")], ...request });
    const key = writeKey(methods.beginTurn, tenantId, whole);
    const parentTurnId = whole.parentTurnId ?? (whole.lease ? undefined : "");
    return beginTurn(this.deps, key, { ...whole, parentTurnId }, signal);
  }

  append(turnId: string, text: string, request: Partial<wire.AppendMessagesRequest> = {}) {
    const whole = wire.AppendMessagesRequest.create({ turnId, messages: [user(text)], ...request });
    return appendMessages(this.deps, writeKey(methods.appendMessages, tenantId, whole), whole);
  }

  complete(turnId: string, request: Partial<wire.CompleteTurnRequest> = {}) {
    const whole = wire.CompleteTurnRequest.create({ turnId, ...request });
    const key = writeKey(methods.completeTurn, tenantId, whole);
    return completeTurn(this.deps, key, whole);
  }

  /** A new session; its id. */
  async create(request: Partial<wire.CreateSessionRequest> = {}): Promise<string> {
    const whole = wire.CreateSessionRequest.create(request);
    const { session } = await createSession(
      this.deps,
      writeKey(methods.createSession, tenantId, whole),
      whole,
    );
    return session!.id;
  }

  update(session: string, request: Partial<wire.UpdateSessionRequest>) {
    const whole = wire.UpdateSessionRequest.create({ session, ...request });
    return updateSession(this.deps, writeKey(methods.updateSession, tenantId, whole), whole);
  }

  fork(turnId: string, label = ""): Promise<string> {
    return this.forkFrom({ at: { $case: "turnId", value: turnId }, label });
  }

  forkSession(session: string, label = ""): Promise<string> {
    return this.forkFrom({ session, label });
  }

  private async forkFrom(request: Partial<wire.ForkSessionRequest>): Promise<string> {
    const whole = wire.ForkSessionRequest.create(request);
    const key = writeKey(methods.forkSession, tenantId, whole);
    const { session } = await forkSession(this.deps, key, whole);
    return session!.id;
  }

  alias(alias: string, session: string, replace = false) {
    const whole = wire.AliasSessionRequest.create({ alias, session, replace });
    return aliasSession(this.deps, writeKey(methods.aliasSession, tenantId, whole), whole);
  }

  delete(session: string) {
    const whole = wire.DeleteSessionRequest.create({ session });
    return deleteSession(this.deps, writeKey(methods.deleteSession, tenantId, whole), whole);
  }

  async count(table: string): Promise<number> {
    const [row] = await this.database.sqlReader.query(`SELECT COUNT(*) FROM ${table}`, []);
    return Number(row![0]);
  }

  /** How many rows every table of the ledger has. */
  async rowCounts(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const table of tables) counts[table] = await this.count(table);
    return counts;
  }
}

/** A ledger of the running test on this database, closed when the test has finished. */
export async function openLedger(url: string, timeoutMs?: number): Promise<OpenLedger> {
  const ledger = await OpenLedger.on(url, timeoutMs);
  onTestFinished(() => ledger.close());
  return ledger;
}

export function sqliteUrl(): string {
  return `file:${join(tempFolder(), `${randomUUID()}.db`)}`;
}

/** The reason for which a promise was refused; what came instead, in words, when it was not. */
export async function refusal(promise: Promise<unknown>): Promise<Reason | string> {
  try {
    await promise;
    return "it was done";
  } catch (error) {
    return error instanceof QuireError ? error.reason : String(error);
  }
}
