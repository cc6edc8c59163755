import type { BlockActor, BlockName, BlockRevision, BlockSchema } from "../../domain/memory.js";
import { QuireError } from "../../errors/quire-error.js";
import { readPageToken, writePageToken } from "../../storage/page-token.js";
import type { MemoryDeps } from "../deps.js";
import { decodeSchema } from "../memory-codec.js";
import { actorOf } from "../permissions.js";
import { renderContent } from "../rendering/render-content.js";
import { findBlock } from "./get-block.js";
import { viewRevision } from "./views.js";

interface ListRevisions {
  readonly block: BlockName | undefined;
  readonly actor: BlockActor | undefined;
  readonly pageSize: number;
  readonly pageToken: string;
}

/** A page of a block's revisions, newest first. */
export async function listRevisions(
  deps: MemoryDeps,
  tenantId: string,
  { block, actor, pageSize, pageToken }: ListRevisions,
): Promise<{ readonly revisions: readonly BlockRevision[]; readonly nextPageToken: string }> {
  return deps.store.reading(async (reads) => {
    const { row } = await findBlock(reads, tenantId, block!, actorOf(actor));
    const list = `block revisions ${row.id}`;
    const [before] = readPageToken(list, pageToken, [String(row.revision + 1)]);
    const found = await reads.revisionsBefore(tenantId, row.id, Number(before), pageSize + 1);
    const page = found.slice(0, pageSize);
    const nextPageToken =
      found.length > page.length ? writePageToken(list, [String(page.at(-1)!.revision)]) : "";
    return { revisions: page.map((revision) => viewRevision(revision)), nextPageToken };
  });
}

interface GetRevision {
  readonly block: BlockName | undefined;
  readonly actor: BlockActor | undefined;
  readonly revision: number;
}

/** One revision, with the block's text after it. */
export async function getRevision(
  deps: MemoryDeps,
  tenantId: string,
  { block, actor, revision: number }: GetRevision,
): Promise<{ readonly revision: BlockRevision; readonly text: string; readonly schema: BlockSchema }> {
  return deps.store.reading(async (reads) => {
    const { row } = await findBlock(reads, tenantId, block!, actorOf(actor));
    const revision = await reads.revision(tenantId, row.id, number);
    if (!revision) throw revisionNotFound(row.label, number);
    const bytes = (await reads.schemaAt(tenantId, row.id, number)) ?? row.schema;
    const moment = { frontiers: revision.frontiers, schema: bytes };
    const schema = decodeSchema(bytes);
    const text = renderContent(schema, await deps.documents.contentThen(reads, row, moment));
    return { revision: viewRevision(revision, Buffer.from(revision.update)), text, schema };
  });
}

export function revisionNotFound(label: string, revision: number): QuireError {
  const message = `the block ${JSON.stringify(label)} has no revision ${revision}`;
  return new QuireError("REVISION_NOT_FOUND", message, { metadata: { label, revision: String(revision) } });
}
