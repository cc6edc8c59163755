import type { Database } from "../database.js";
import type { Dialect } from "../sql.js";
import { asStorageError } from "../storage-error.js";
import { type HeadMoveRow, headMoveShape, leaseShape, noLease, type SessionLease } from "./rows.js";

/** How far somebody knows a session's head log. */
export interface HeadPosition {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly sequence: number;
}

/** Where a session's head is, null when the session is gone; and who has it. */
export interface HeadFound {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly sequence: number | null;
  readonly lease: SessionLease;
}

/** The head logs of many sessions, read in one query however many they are. */
export class HeadLog {
  constructor(private readonly database: Database) {}

  /** See `Database.changeMark`. */
  async changeMark(): Promise<string> {
    return this.reading(() => this.database.changeMark());
  }

  /** Those of the sessions whose head is elsewhere, that another turn has, or that are gone. */
  async findChanged(
    positions: readonly (HeadPosition & Pick<SessionLease, "leaseTurnId">)[],
  ): Promise<HeadFound[]> {
    const wanted = positions.map(({ tenantId, sessionId, sequence, leaseTurnId }) => [
      tenantId,
      sessionId,
      sequence,
      leaseTurnId,
    ]);
    const rows = await this.query(findChangedSql, wanted);
    return rows.map((row) => ({
      tenantId: row[0] as string,
      sessionId: row[1] as string,
      sequence: row[2] === null ? null : Number(row[2]),
      lease: leaseShape.read(row, 3) ?? noLease,
    }));
  }

  /** The moves after each position, up to a sequence; by session, in their order. */
  async movesBetween(
    ranges: readonly { readonly after: HeadPosition; readonly upTo: number }[],
  ): Promise<HeadMoveRow[]> {
    const wanted = ranges.map(({ after, upTo }) => [after.tenantId, after.sessionId, after.sequence, upTo]);
    const rows = await this.query(movesBetweenSql, wanted);
    return rows.map((row) => headMoveShape.read(row)!);
  }

  private query(text: (dialect: Dialect) => string, wanted: readonly unknown[]) {
    const { sqlReader, dialect } = this.database;
    return this.reading(() => sqlReader.query(text(dialect), [JSON.stringify(wanted)]));
  }

  private async reading<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

/** The list that is asked about goes in as one JSON text: statements bound the values that they take. */
const wantedRows = (dialect: Dialect) =>
  dialect === "sqlite" ? "json_each(?) AS wanted" : "json_array_elements(CAST(? AS JSON)) AS wanted(value)";

const findChangedSql = (
  dialect: Dialect,
) => `SELECT wanted.value->>0, wanted.value->>1, sessions.head_sequence, ${leaseShape.columnsOf("sessions")}
FROM ${wantedRows(dialect)}
LEFT JOIN sessions ON sessions.tenant_id = wanted.value->>0 AND sessions.id = wanted.value->>1
WHERE sessions.head_sequence IS DISTINCT FROM CAST(wanted.value->>2 AS INTEGER)
  OR sessions.lease_turn_id IS DISTINCT FROM wanted.value->>3`;

const movesBetweenSql = (dialect: Dialect) => `SELECT ${headMoveShape.columnsOf("moves")}
FROM ${wantedRows(dialect)} CROSS JOIN head_moves AS moves
WHERE moves.tenant_id = wanted.value->>0 AND moves.session_id = wanted.value->>1
  AND moves.sequence > CAST(wanted.value->>2 AS INTEGER) AND moves.sequence <= CAST(wanted.value->>3 AS INTEGER)
ORDER BY moves.tenant_id, moves.session_id, moves.sequence`;
