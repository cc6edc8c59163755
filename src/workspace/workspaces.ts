import { toMicroseconds } from "../domain/clock.js";
import type { RuntimeFacts, Workspace } from "../domain/workspace.js";
import { readPageToken, writePageToken } from "../storage/page-token.js";
import type { WriteKey } from "../storage/stored-answers.js";
import type { WorkspaceRow } from "../storage/workspace/rows.js";
import { workspaceNotFound } from "../storage/workspace/workspace-store.js";
import type { WorkspaceTransaction } from "../storage/workspace/workspace-transaction.js";
import type { WorkspaceDeps } from "./deps.js";
import { viewWorkspace } from "./views.js";

export interface WorkspaceAnswer {
  readonly workspace: Workspace | undefined;
}

export interface PutWorkspace {
  readonly name: string;
  readonly path: string;
  readonly runtime: RuntimeFacts | undefined;
}

/** Makes a workspace, or changes its path and runtime facts; the same again changes nothing. */
export async function putWorkspace(
  deps: WorkspaceDeps,
  key: WriteKey<WorkspaceAnswer>,
  command: PutWorkspace,
): Promise<WorkspaceAnswer> {
  const { name, path } = command;
  const { host = "", os = "", arch = "" } = command.runtime ?? {};
  const nowUs = toMicroseconds(deps.clock.now());
  return deps.store.write(key, nowUs, async (workspaces) => {
    const before = await workspaces.find(name);
    const facts = { path, host, os, arch };
    const row = before
      ? await changeFacts(workspaces, before, facts)
      : { ...newWorkspace(key.tenantId, deps.ids.next(), name, nowUs), ...facts };
    if (!before) await workspaces.insert(row);
    return { workspace: viewWorkspace(await workspaces.read(row)) };
  });
}

type Facts = Pick<WorkspaceRow, "path" | "host" | "os" | "arch">;

async function changeFacts(
  workspaces: WorkspaceTransaction,
  row: WorkspaceRow,
  facts: Facts,
): Promise<WorkspaceRow> {
  const same =
    row.path === facts.path && row.host === facts.host && row.os === facts.os && row.arch === facts.arch;
  return same ? row : workspaces.change(row, { ...facts, updatedUs: workspaces.nowUs });
}

function newWorkspace(
  tenantId: string,
  id: string,
  name: string,
  nowUs: bigint,
): Omit<WorkspaceRow, keyof Facts> {
  return {
    tenantId,
    id,
    name,
    revision: 1,
    capabilityCount: 0,
    snapshotHash: null,
    snapshotUs: null,
    createdUs: nowUs,
    updatedUs: nowUs,
  };
}

export async function getWorkspace(
  deps: WorkspaceDeps,
  tenantId: string,
  name: string,
): Promise<WorkspaceAnswer> {
  return { workspace: viewWorkspace(await deps.store.find(tenantId, name)) };
}

export interface ListWorkspaces {
  readonly pageSize: number;
  readonly pageToken: string;
}

export interface WorkspacePage {
  readonly workspaces: readonly Workspace[];
  readonly nextPageToken: string;
}

/** A page of workspaces by name, without their documents. */
export async function listWorkspaces(
  deps: WorkspaceDeps,
  tenantId: string,
  { pageSize, pageToken }: ListWorkspaces,
): Promise<WorkspacePage> {
  const [after] = readPageToken("workspaces", pageToken, [""]);
  const found = await deps.store.list(tenantId, after!, pageSize + 1);
  const page = found.slice(0, pageSize);
  const nextPageToken =
    found.length > page.length ? writePageToken("workspaces", [page.at(-1)!.row.name]) : "";
  return { workspaces: page.map(viewWorkspace), nextPageToken };
}

export interface DeletedWorkspace {
  readonly deletedDocuments: number;
}

/** Removes a workspace with all that is in it. */
export async function deleteWorkspace(
  deps: WorkspaceDeps,
  key: WriteKey<DeletedWorkspace>,
  name: string,
): Promise<DeletedWorkspace> {
  return deps.store.write(key, toMicroseconds(deps.clock.now()), async (workspaces) => {
    const row = await requireWorkspace(workspaces, name);
    return { deletedDocuments: await workspaces.remove(row) };
  });
}

export async function requireWorkspace(
  workspaces: WorkspaceTransaction,
  name: string,
): Promise<WorkspaceRow> {
  const row = await workspaces.find(name);
  if (!row) throw workspaceNotFound(name);
  return row;
}
