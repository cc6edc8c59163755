import type { Soon } from "../../domain/soon.js";
import type { Database, PrismaTransaction } from "../database.js";
import type { RememberedRead } from "../remembered-reads.js";
import { list, type Sql, type SqlRow } from "../sql.js";
import { asStorageError } from "../storage-error.js";
import { idempotentWrite, type WriteKey } from "../stored-answers.js";
import type {
  ItemRow,
  ObservationRow,
  OutcomeCursor,
  OutcomeFold,
  OutcomeRow,
  SourceMark,
  SourceRow,
  UncountedTurn,
} from "./rows.js";
import { SourceTransaction } from "./source-transaction.js";

/** What sources know, as it is stored. */
export class SourceStore {
  private readonly marked: RememberedRead<readonly SourceMark[]>;

  constructor(private readonly database: Database) {
    this.marked = database.remember({
      tables: ["source_marks"],
      text: selectMarks,
      read: (rows) =>
        rows.map((row) => ({ agent: row[0] as string, kind: row[1] as string, revision: Number(row[2]) })),
    });
  }

  /** One cheap read at most: what there is for an agent. Every assembly asks. */
  marks(tenantId: string, agent: string): Soon<readonly SourceMark[]> {
    return this.marked(tenantId, agent);
  }

  /** All items of some kinds that an agent knows by itself, and that every agent knows, by kind and key. */
  async items(tenantId: string, agent: string, kinds: readonly string[]): Promise<ItemRow[]> {
    const rows = await this.reading(() =>
      this.database.reader.sourceItem.findMany({
        where: { tenantId, agent: { in: [agent, ""] }, kind: { in: [...kinds] } },
        orderBy: [{ kind: "asc" }, { key: "asc" }, { agent: "asc" }],
      }),
    );
    return rows.map((row) => ({ ...row, wire: Buffer.from(row.wire) }));
  }

  async observations(tenantId: string, agent: string, kind: string): Promise<ObservationRow[]> {
    return this.reading(() =>
      this.database.reader.sourceObservation.findMany({
        where: { tenantId, agent: { in: [agent, ""] }, kind },
        orderBy: [{ name: "asc" }, { observedUs: "asc" }, { agent: "asc" }],
      }),
    );
  }

  async sources(tenantId: string): Promise<SourceRow[]> {
    const rows = await this.reading(() =>
      this.database.reader.source.findMany({ where: { tenantId }, orderBy: { name: "asc" } }),
    );
    return rows.map(({ name, wire, updatedUs }) => ({ name, wire: Buffer.from(wire), updatedUs }));
  }

  async source(tenantId: string, name: string): Promise<SourceRow | undefined> {
    const row = await this.reading(() =>
      this.database.reader.source.findFirst({ where: { tenantId, name } }),
    );
    return row ? { name, wire: Buffer.from(row.wire), updatedUs: row.updatedUs } : undefined;
  }

  /** A page of an agent's items, after a kind and a key. */
  async listItems(
    tenantId: string,
    agent: string,
    kind: string | undefined,
    [afterKind, afterKey]: readonly [string, string],
    limit: number,
  ): Promise<ItemRow[]> {
    const rows = await this.reading(() =>
      this.database.reader.sourceItem.findMany({
        where: {
          tenantId,
          agent,
          ...(kind === undefined ? {} : { kind }),
          ...(afterKind === ""
            ? {}
            : { OR: [{ kind: { gt: afterKind } }, { kind: afterKind, key: { gt: afterKey } }] }),
        },
        orderBy: [{ kind: "asc" }, { key: "asc" }],
        take: limit,
      }),
    );
    return rows.map((row) => ({ ...row, wire: Buffer.from(row.wire) }));
  }

  async listObservations(
    tenantId: string,
    agent: string,
    kind: string | undefined,
    after: { readonly kind: string; readonly name: string; readonly observedUs: bigint } | undefined,
    limit: number,
  ): Promise<ObservationRow[]> {
    return this.reading(() =>
      this.database.reader.sourceObservation.findMany({
        where: {
          tenantId,
          agent,
          ...(kind === undefined ? {} : { kind }),
          ...(after
            ? {
                OR: [
                  { kind: { gt: after.kind } },
                  { kind: after.kind, name: { gt: after.name } },
                  { kind: after.kind, name: after.name, observedUs: { gt: after.observedUs } },
                ],
              }
            : {}),
        },
        orderBy: [{ kind: "asc" }, { name: "asc" }, { observedUs: "asc" }],
        take: limit,
      }),
    );
  }

  async outcomes(tenantId: string, agent: string): Promise<OutcomeRow[]> {
    const rows = await this.reading(() => this.database.sqlReader.query(selectOutcomes, [tenantId, agent]));
    return rows.map(readOutcome);
  }

  /** Up to where a session's tool calls are counted. */
  async cursor(tenantId: string, sessionId: string): Promise<OutcomeCursor | undefined> {
    const [row] = await this.reading(() =>
      this.database.sqlReader.query(selectCursor, [tenantId, sessionId]),
    );
    return row && { turnId: row[0] as string, openJson: row[1] as string };
  }

  /** The turns of a session that are not counted yet, oldest first, with their messages. */
  async uncounted(
    tenantId: string,
    sessionId: string,
    afterTurnId: string,
    limit: number,
  ): Promise<UncountedTurn[]> {
    const turns = await this.reading(() =>
      this.database.sqlReader.query(selectUncounted, [tenantId, sessionId, afterTurnId, limit]),
    );
    if (turns.length === 0) return [];
    const ids = turns.map((row) => row[0] as string);
    const wires = await this.reading(() =>
      this.database.sqlReader.query(
        `SELECT turn_id, wire FROM messages WHERE tenant_id = ? AND turn_id IN (${list(ids.length)}) ORDER BY turn_id, first_index`,
        [tenantId, ...ids],
      ),
    );
    return turns.map((row) => ({
      turnId: row[0] as string,
      isOpen: row[1] === "TURN_STATUS_OPEN",
      wires: wires.filter(([turnId]) => turnId === row[0]).map(([, wire]) => Buffer.from(wire as Uint8Array)),
    }));
  }

  /** Counts what was found, and moves the cursor; nothing, if somebody else has moved it. */
  async count(tenantId: string, agent: string, fold: OutcomeFold): Promise<boolean> {
    try {
      return await this.database.sqlTransaction((sql) => countOutcomes(sql, tenantId, agent, fold));
    } catch (error) {
      throw asStorageError(error);
    }
  }

  /** One idempotent write. */
  write<Answer>(
    key: WriteKey<Answer>,
    nowUs: bigint,
    work: (sources: SourceTransaction) => Promise<Answer>,
  ): Promise<Answer> {
    return idempotentWrite(this.database, key, nowUs, async (tx: PrismaTransaction) => ({
      answer: await work(new SourceTransaction(tx, key.tenantId, nowUs)),
      sessionId: null,
    }));
  }

  private async reading<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

async function countOutcomes(sql: Sql, tenantId: string, agent: string, fold: OutcomeFold): Promise<boolean> {
  const { sessionId, before, after, outcomes } = fold;
  const { turnId, openJson } = after;
  const moved = before
    ? await sql.execute(
        "UPDATE tool_outcome_cursors SET turn_id = ?, open_json = ? WHERE tenant_id = ? AND session_id = ? AND turn_id = ?",
        [turnId, openJson, tenantId, sessionId, before.turnId],
      )
    : await sql.execute(
        "INSERT INTO tool_outcome_cursors (tenant_id, session_id, turn_id, open_json) VALUES (?, ?, ?, ?) ON CONFLICT (tenant_id, session_id) DO NOTHING",
        [tenantId, sessionId, turnId, openJson],
      );
  if (moved === 0) return false;
  // In one order, so that two servers never wait for each other.
  for (const { tool, calls, failures } of outcomes.toSorted((a, b) => (a.tool < b.tool ? -1 : 1)))
    await sql.execute(upsertOutcome, [tenantId, agent, tool, BigInt(calls), BigInt(failures)]);
  return true;
}

const selectMarks =
  "SELECT agent, kind, revision FROM source_marks WHERE tenant_id = ? AND agent IN (?, '') AND present = 1 ORDER BY agent, kind";
const selectOutcomes =
  "SELECT tool, calls, failures FROM tool_outcomes WHERE tenant_id = ? AND agent = ? ORDER BY tool";
const selectCursor =
  "SELECT turn_id, open_json FROM tool_outcome_cursors WHERE tenant_id = ? AND session_id = ?";
const selectUncounted =
  "SELECT id, status FROM turns WHERE tenant_id = ? AND session_id = ? AND id > ? ORDER BY id LIMIT ?";
const upsertOutcome = `INSERT INTO tool_outcomes (tenant_id, agent, tool, calls, failures) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, agent, tool) DO UPDATE SET calls = tool_outcomes.calls + excluded.calls, failures = tool_outcomes.failures + excluded.failures`;

function readOutcome(row: SqlRow): OutcomeRow {
  return { tool: row[0] as string, calls: Number(row[1]), failures: Number(row[2]) };
}
