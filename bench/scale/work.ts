import { assemble } from "../../src/assembly/assemble.js";
import { buildContext } from "../../src/assembly/build-context.js";
import type { AssemblyDeps } from "../../src/assembly/deps.js";
import { HeldContext } from "../../src/contract/gen/quire/v1/assembly_service.js";
import { CompressionStrategy } from "../../src/domain/context-settings.js";
import { TaskStatus } from "../../src/domain/session.js";
import type { Engine } from "../../src/engine.js";
import { createLedger } from "../../src/ledger/ledger.js";
import { type ListSessions, listSessions } from "../../src/ledger/sessions.js";
import { contextRequest, tenantId } from "../assembly-fixture.js";
import { elapsedMs, seeded } from "../measure.js";
import { sessionLengths } from "./conversation.js";
import { appendTurn, contextTokens, label } from "./template.js";

const perSet = sessionLengths.length;
const pageSize = 20;

/** What is measured, in the process of the engine. Each gives milliseconds for one call, over a set of sessions of all lengths. */
export class Work {
  private readonly random = seeded(23);
  private readonly cold: AssemblyDeps;
  private readonly held = new Map<string, HeldContext>();
  private turn = 900_000_000;

  constructor(
    private readonly engine: Engine,
    readonly sets: number,
  ) {
    const { assembly, database } = engine;
    const ledger = createLedger({ ...assembly.ledger, database, historyCacheBytes: 0, watchPollMs: 60_000 });
    this.cold = { ...assembly, ledger };
  }

  /** Contexts of sessions from anywhere in the database, without a cache of turns. */
  coldAssembly = (): Promise<number> =>
    this.perSession(
      () => this.anySet(),
      (session) => this.build(session, this.cold),
    );

  /** Contexts of the same sessions again and again. */
  warmAssembly = (): Promise<number> =>
    this.perSession(
      () => this.middleSet,
      (session) => this.build(session),
    );

  /** The newest turns of sessions from anywhere, by one statement each. */
  plainRead = (): Promise<number> =>
    this.perSession(
      () => this.anySet(),
      async (session) => {
        const { sqlReader } = this.engine.database;
        await sqlReader.query(newestTurns, [tenantId, session]);
      },
    );

  /** Contexts for callers who hold the one before; a turn was added since. */
  async deltaAssembly(): Promise<number> {
    const sessions = this.sessionsOf(this.middleSet);
    for (const session of sessions) {
      if (!this.held.has(session)) await this.assembleHeld(session);
      await this.append(session);
    }
    return this.perSession(
      () => this.middleSet,
      (session) => this.assembleHeld(session),
    );
  }

  /** Turns by one writer, to sessions from anywhere. */
  async appending(): Promise<number> {
    const heads = new Map<string, string>();
    for (const session of this.sessionsOf(this.anySet())) heads.set(session, await this.headOf(session));
    const ms = await elapsedMs(async () => {
      for (const [session, head] of heads) await appendTurn(this.engine, session, head, ++this.turn);
    });
    return ms / heads.size;
  }

  /** A transaction of one small row. */
  async plainWrite(): Promise<number> {
    const write = () =>
      this.engine.database.sqlTransaction((sql) =>
        sql.execute(putSecret, ["bench", Buffer.from(`value ${++this.turn}`)]),
      );
    const ms = await elapsedMs(async () => {
      for (let at = 0; at < perSet; at++) await write();
    });
    return ms / perSet;
  }

  newestSessions = (): Promise<number> => this.list({});

  olderSessions = async (): Promise<number> => {
    const first = await listSessions(this.engine.ledger, tenantId, { ...everySession, pageSize: 2 });
    return this.list({ pageToken: first.nextPageToken });
  };

  sessionsByPrefix = (): Promise<number> => this.list({ labelPrefix: "session-" });

  sessionsByLabel = (): Promise<number> => this.list({ labelPrefix: label(this.middleSet) });

  subAgentsOfOne = (): Promise<number> => this.list({ parentSession: label(this.anySet() * perSet) });

  sessionsByStatus = (): Promise<number> => this.list({ taskStatus: TaskStatus.COMPLETED });

  anySet(): number {
    return Math.floor(this.random() * this.sets);
  }

  sessionsOf(set: number): string[] {
    return Array.from({ length: perSet }, (_, index) => label(set * perSet + index));
  }

  async build(session: string, deps = this.engine.assembly): Promise<void> {
    await buildContext(deps, tenantId, contextRequest(session, contextTokens));
  }

  /** A context as requests ask for one that leave compaction to the server: threads that do not fit are summarized, in worker threads. */
  async buildCompacted(session: string): Promise<void> {
    const request = contextRequest(session, contextTokens);
    const settings = { ...request.settings!, compressionStrategy: CompressionStrategy.UNSPECIFIED };
    await buildContext(this.engine.assembly, tenantId, { ...request, settings });
  }

  async append(session: string): Promise<void> {
    await appendTurn(this.engine, session, await this.headOf(session), ++this.turn);
  }

  private get middleSet(): number {
    return this.sets >> 1;
  }

  private async headOf(session: string): Promise<string> {
    const found = await this.engine.ledger.threads.findHead(tenantId, session);
    return found?.session.headTurnId ?? "";
  }

  private async perSession(set: () => number, work: (session: string) => Promise<void>): Promise<number> {
    const sessions = Array.from({ length: perSet }, (_, index) => label(set() * perSet + index));
    const ms = await elapsedMs(async () => {
      for (const session of sessions) await work(session);
    });
    return ms / perSet;
  }

  private async assembleHeld(session: string): Promise<void> {
    const have = this.held.get(session) ?? HeldContext.create();
    const next: { -readonly [Key in keyof HeldContext]: HeldContext[Key] } = { ...have };
    const request = { ...contextRequest(session, contextTokens), have };
    for await (const event of assemble(this.engine.assembly, tenantId, request)) {
      if (event.kind === "tools") next.toolsHash = event.tools.hash;
      else if (event.kind === "system") next.systemHash = event.system.hash;
      else if (event.kind === "history") {
        const { cutId, chainHash, lastTurnId } = event.history.layer;
        Object.assign(next, { cutId, chainHash, lastTurnId });
        event.history.pieces();
      }
    }
    this.held.set(session, next);
  }

  private async list(filter: Partial<ListSessions>): Promise<number> {
    const ms = await elapsedMs(async () => {
      for (let at = 0; at < perSet; at++)
        await listSessions(this.engine.ledger, tenantId, { ...everySession, pageSize, ...filter });
    });
    return ms / perSet;
  }
}

const everySession: ListSessions = {
  pageSize: 0,
  pageToken: "",
  labelPrefix: "",
  parentSession: "",
  taskStatus: TaskStatus.UNSPECIFIED,
  metadata: [],
};

const newestTurns = `SELECT m.turn_id, m.index_json, m.wire FROM sessions s
JOIN messages m ON m.tenant_id = s.tenant_id AND m.branch_id = s.head_branch_id AND m.depth > s.head_depth - 24
WHERE s.tenant_id = ? AND s.label = ?`;
const putSecret =
  "INSERT INTO shared_secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
