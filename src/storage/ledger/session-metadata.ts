import type { PrismaTransaction } from "../database.js";
import type { SessionMetadataRow, SessionRow } from "./rows.js";

/** So many bytes of a value are in the index. PostgreSQL's entries have less than 3,000 in all. */
const indexedBytes = 480;

export function valueStart(value: string): Buffer {
  return Buffer.from(value).subarray(0, indexedBytes);
}

type Described = Pick<SessionRow, "tenantId" | "id" | "metadataJson">;

/** Keeps the rows that sessions are found by as its metadata are. `before` is the session as it was, if it was. */
export async function writeMetadata(
  tx: PrismaTransaction,
  { tenantId, id: sessionId, metadataJson }: Described,
  before?: Described,
): Promise<void> {
  if (metadataJson === (before?.metadataJson ?? "{}")) return;
  const now = read(metadataJson);
  const old = read(before?.metadataJson ?? "{}");
  const gone = [...old].filter(([key, value]) => now.get(key) !== value).map(([key]) => key);
  const added = [...now].filter(([key, value]) => old.get(key) !== value);
  if (gone.length > 0)
    await tx.sessionMetadata.deleteMany({ where: { tenantId, sessionId, key: { in: gone } } });
  if (added.length > 0) await tx.sessionMetadata.createMany({ data: rowsOf(tenantId, sessionId, added) });
}

/** The rows of a session's metadata. */
export function rowsOf(
  tenantId: string,
  sessionId: string,
  metadata: Iterable<readonly [key: string, value: string]>,
): SessionMetadataRow[] {
  return Array.from(metadata, ([key, value]) => ({
    tenantId,
    sessionId,
    key,
    valueStart: Uint8Array.from(valueStart(value)),
    value,
  }));
}

function read(metadataJson: string): ReadonlyMap<string, string> {
  return new Map(Object.entries(JSON.parse(metadataJson) as Record<string, string>));
}
