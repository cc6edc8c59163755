import { sha256 } from "../../domain/hash.js";
import type { PrismaTransaction } from "../database.js";
import type * as models from "../gen/sqlite/models.js";
import { rowRuns } from "../row-runs.js";

export type HashColumn = models.ContentBlobModel["hash"];

export interface Content {
  readonly hash: Buffer;
  readonly bytes: Buffer;
}

export function contentOf(bytes: Buffer): Content {
  return { hash: sha256(bytes), bytes };
}

/** The generated types ask for bytes that own their memory, which no driver needs. */
export function hashColumn(bytes: Buffer): HashColumn {
  return bytes as unknown as HashColumn;
}

/** Stores what is not there yet, each content once. */
export async function putContents(
  tx: PrismaTransaction,
  tenantId: string,
  contents: readonly Content[],
  createdUs: bigint,
): Promise<void> {
  const missing = new Map(contents.map((content) => [content.hash.toString("hex"), content]));
  const hashes = [...missing.values()].map(({ hash }) => hashColumn(hash));
  const found = await tx.contentBlob.findMany({
    where: { tenantId, hash: { in: hashes } },
    select: { hash: true },
  });
  for (const { hash } of found) missing.delete(Buffer.from(hash).toString("hex"));
  if (missing.size === 0) return;
  // In the order of their hashes, so that two writers never wait for each other.
  const data = [...missing.keys()].sort().map((key) => {
    const { hash, bytes } = missing.get(key)!;
    return { tenantId, hash: hashColumn(hash), bytes: hashColumn(bytes), createdUs };
  });
  for (const run of rowRuns(data)) await tx.contentBlob.createMany({ data: run });
}

/** Contents by the hex of their hash; those that are not stored are left out. */
export async function readContents(
  client: PrismaTransaction,
  tenantId: string,
  hashes: readonly Uint8Array[],
): Promise<ReadonlyMap<string, Buffer>> {
  const rows = await client.contentBlob.findMany({
    where: { tenantId, hash: { in: hashes as HashColumn[] } },
  });
  return new Map(rows.map(({ hash, bytes }) => [Buffer.from(hash).toString("hex"), Buffer.from(bytes)]));
}
