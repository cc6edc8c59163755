import { createHash } from "node:crypto";
import { arch, hostname, release, type } from "node:os";
import type {
  CapabilitySnapshot,
  Document,
  Toolset,
  Workspace,
} from "../../contract/gen/quire/v1/workspace.js";
import type { Workspaces } from "../client/quire-client.js";
import { unlessRefused } from "../client/unless-refused.js";
import type { SkippedFile, WorkspaceFolder } from "./read-folder.js";

export type Change = "new" | "changed" | "same" | "removed";

export interface PushedDocument {
  readonly path: string;
  readonly kind: string;
  readonly version: number;
  readonly tokens: number;
  readonly change: Change;
}

export interface PushedToolset {
  readonly name: string;
  readonly tools: number;
  readonly version: number;
  readonly tokens: number;
  readonly change: Change;
}

/** What a push did. */
export interface PushReport {
  readonly workspace: string;
  readonly documents: readonly PushedDocument[];
  readonly capabilities: { readonly count: number; readonly change: Change } | undefined;
  readonly toolsets: readonly PushedToolset[];
  readonly skipped: readonly SkippedFile[];
}

/** One call takes so much, which is well below what a server reads at most unless it was told otherwise. */
const maxBatchBytes = 8 * 1024 * 1024;
const maxBatchItems = 1_024;

/** Makes the workspace hold what the folder holds. What is the same is not sent; toolsets are never removed. */
export async function pushFolder(
  workspaces: Workspaces,
  name: string,
  folder: WorkspaceFolder,
): Promise<PushReport> {
  const runtime = { host: hostname(), os: `${type()} ${release()}`, arch: arch() };
  const { workspace } = await workspaces.putWorkspace({ name, path: folder.root, runtime });
  const toolsets: PushedToolset[] = [];
  const documents = await pushDocuments(workspaces, workspace!, folder);
  const capabilities = folder.snapshot && (await pushSnapshot(workspaces, name, folder.snapshot));
  for (const toolset of folder.toolsets) toolsets.push(await pushToolset(workspaces, name, toolset));
  return { workspace: name, documents, capabilities, toolsets, skipped: folder.skipped };
}

async function pushDocuments(
  workspaces: Workspaces,
  workspace: Workspace,
  folder: WorkspaceFolder,
): Promise<readonly PushedDocument[]> {
  const before = new Map(workspace.documents.map((document) => [document.path, document]));
  const after = new Map(before);
  const changed = folder.documents.filter(
    ({ path, content }) => !before.get(path)?.hash.equals(sha256(content)),
  );
  const present = new Set([...folder.documents, ...folder.skipped].map(({ path }) => path));
  const gone = workspace.documents.filter(({ path }) => !present.has(path));
  const removals = chunks(
    gone.map(({ path }) => path),
    () => 1,
    maxBatchItems,
  );
  const batches = chunks(changed, ({ content }) => Buffer.byteLength(content), maxBatchBytes);
  for (let index = 0; index < Math.max(batches.length, removals.length); index++) {
    const { documents } = await workspaces.putDocuments({
      workspace: workspace.name,
      documents: batches[index] ?? [],
      removePaths: removals[index] ?? [],
    });
    for (const document of documents) after.set(document.path, document);
  }
  return [
    ...folder.documents.map(({ path }) =>
      pushed(after.get(path)!, changeOf(before.get(path), after.get(path)!)),
    ),
    ...gone.map((document) => pushed(document, "removed")),
  ];
}

function chunks<T>(
  items: readonly T[],
  sizeOf: (item: T) => number,
  maxSize: number,
): readonly (readonly T[])[] {
  const batches: T[][] = [];
  let size = 0;
  for (const item of items) {
    const last = batches.at(-1);
    if (last && last.length < maxBatchItems && size + sizeOf(item) <= maxSize) last.push(item);
    else {
      batches.push([item]);
      size = 0;
    }
    size += sizeOf(item);
  }
  return batches;
}

function pushed({ path, kind, version, o200kTokens }: Document, change: Change): PushedDocument {
  return { path, kind: kindName(kind), version, tokens: o200kTokens, change };
}

export function kindName(kind: string): string {
  return kind.replace("DOCUMENT_KIND_", "").toLowerCase().replace("_", " ");
}

type Versioned = { readonly hash: Buffer };

function changeOf(before: Versioned | undefined, after: Versioned): Change {
  if (!before || before.hash.length === 0) return "new";
  return before.hash.equals(after.hash) ? "same" : "changed";
}

async function pushSnapshot(workspaces: Workspaces, workspace: string, snapshot: CapabilitySnapshot) {
  const { snapshot: before } = await workspaces.getCapabilities({ workspace });
  const { snapshot: after } = await workspaces.putCapabilities({ workspace, snapshot });
  return { count: snapshot.capabilities.length, change: changeOf(before, after!) };
}

async function pushToolset(
  workspaces: Workspaces,
  workspace: string,
  toolset: Toolset,
): Promise<PushedToolset> {
  const before = await findToolset(workspaces, workspace, toolset.name);
  const after = (await workspaces.putToolset({ workspace, toolset })).toolset!;
  const { name, tools, version, o200kTokens } = after;
  return { name, tools: tools.length, version, tokens: o200kTokens, change: changeOf(before, after) };
}

async function findToolset(
  workspaces: Workspaces,
  workspace: string,
  name: string,
): Promise<Toolset | undefined> {
  return (await unlessRefused("TOOLSET_NOT_FOUND", workspaces.getToolset({ workspace, name })))?.toolset;
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

export function isChanged(report: PushReport): boolean {
  const all = [
    ...report.documents,
    ...report.toolsets,
    ...(report.capabilities ? [report.capabilities] : []),
  ];
  return all.some(({ change }) => change !== "same");
}
