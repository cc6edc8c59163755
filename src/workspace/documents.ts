import { toMicroseconds } from "../domain/clock.js";
import type { Document } from "../domain/workspace.js";
import { QuireError } from "../errors/quire-error.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { type Content, contentOf, hashColumn } from "../storage/workspace/content-store.js";
import type { DocumentRow, WorkspaceRow } from "../storage/workspace/rows.js";
import type { WorkspaceDeps } from "./deps.js";
import { documentKind } from "./document-kind.js";
import { viewDocument } from "./views.js";
import { requireWorkspace } from "./workspaces.js";

export interface PutDocuments {
  readonly workspace: string;
  readonly documents: readonly Document[];
  readonly removePaths: readonly string[];
}

export interface WrittenDocuments {
  readonly documents: readonly Document[];
  readonly removed: number;
}

/** A document to write, counted and hashed before the transaction begins. */
interface DocumentDraft {
  readonly document: Document;
  readonly content: Content;
  readonly o200kTokens: number;
}

/** Writes documents and removes others, all at once. The same content keeps its version. */
export async function putDocuments(
  deps: WorkspaceDeps,
  key: WriteKey<WrittenDocuments>,
  command: PutDocuments,
  signal?: AbortSignal,
): Promise<WrittenDocuments> {
  const drafts = await draftDocuments(deps, command.documents, signal);
  const nowUs = toMicroseconds(deps.clock.now());
  return deps.store.write(key, nowUs, async (workspaces) => {
    const workspace = await requireWorkspace(workspaces, command.workspace);
    const paths = [...command.documents.map(({ path }) => path), ...command.removePaths];
    const before = await workspaces.documents(workspace, paths);
    const written = drafts.map((draft) =>
      nextDocument(workspace, before.get(draft.document.path), draft, nowUs),
    );
    const removed = [...new Set(command.removePaths)]
      .map((path) => before.get(path))
      .filter((row) => row !== undefined && row.removedUs === null)
      .map((row) => ({ ...row!, removedUs: nowUs }));
    const changed = written.filter((row) => row !== before.get(row.path));
    await workspaces.putContents(drafts.map(({ content }) => content));
    await workspaces.putDocuments(workspace, [...changed, ...removed]);
    if (changed.length + removed.length > 0) await workspaces.change(workspace, { updatedUs: nowUs });
    return { documents: written.map((row) => viewDocument(row)), removed: removed.length };
  });
}

async function draftDocuments(
  { counter }: WorkspaceDeps,
  documents: readonly Document[],
  signal: AbortSignal | undefined,
): Promise<readonly DocumentDraft[]> {
  const texts = documents.map(({ content }) => content);
  const counts = await counter.countAll(texts, undefined, signal);
  return documents.map((document, index) => ({
    document,
    content: contentOf(Buffer.from(document.content)),
    o200kTokens: counts[index]!,
  }));
}

/** The row after the write: the row that was there, itself, when nothing about it changes. */
function nextDocument(
  { tenantId, id }: WorkspaceRow,
  before: DocumentRow | undefined,
  { document, content, o200kTokens }: DocumentDraft,
  nowUs: bigint,
): DocumentRow {
  const kind = documentKind(document.path, document.kind);
  if (before && content.hash.equals(before.hash)) {
    return before.kind === kind && before.removedUs === null ? before : { ...before, kind, removedUs: null };
  }
  return {
    tenantId,
    workspaceId: id,
    path: document.path,
    kind,
    version: (before?.version ?? 0) + 1,
    hash: hashColumn(content.hash),
    byteCount: content.bytes.length,
    o200kTokens,
    updatedUs: nowUs,
    removedUs: null,
  };
}

export interface DocumentAnswer {
  readonly document: Document | undefined;
}

export async function getDocument(
  { store }: WorkspaceDeps,
  tenantId: string,
  workspace: string,
  path: string,
): Promise<DocumentAnswer> {
  const place = await store.require(tenantId, workspace);
  const row = await store.findDocument(tenantId, place.id, path);
  if (!row) {
    throw new QuireError("DOCUMENT_NOT_FOUND", `the workspace has no document ${JSON.stringify(path)}`, {
      metadata: { workspace, path },
    });
  }
  const [content] = await store.contents(tenantId, [row.hash]);
  return { document: viewDocument(row, content!.toString("utf8")) };
}
