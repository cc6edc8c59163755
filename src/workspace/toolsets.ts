import { toMicroseconds } from "../domain/clock.js";
import type { Toolset } from "../domain/workspace.js";
import { QuireError } from "../errors/quire-error.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { contentOf, hashColumn } from "../storage/workspace/content-store.js";
import type { ToolsetRow } from "../storage/workspace/rows.js";
import { countTools, totalTokens, writeToolTokens } from "./count-tools.js";
import type { WorkspaceDeps } from "./deps.js";
import { viewToolset } from "./views.js";
import { encodeToolset } from "./workspace-codec.js";
import { requireWorkspace } from "./workspaces.js";

export interface ToolsetAnswer {
  readonly toolset: Toolset | undefined;
}

/** Makes or replaces a toolset. The same content keeps its version. */
export async function putToolset(
  deps: WorkspaceDeps,
  key: WriteKey<ToolsetAnswer>,
  workspace: string,
  toolset: Toolset,
  signal?: AbortSignal,
): Promise<ToolsetAnswer> {
  const content = contentOf(encodeToolset(toolset));
  const toolTokens = await countTools(deps.counter, toolset.tools, signal);
  const nowUs = toMicroseconds(deps.clock.now());
  return deps.store.write(key, nowUs, async (workspaces) => {
    const row = await requireWorkspace(workspaces, workspace);
    const before = await workspaces.toolset(row, toolset.name);
    const isSame = before !== undefined && content.hash.equals(before.hash);
    if (isSame && before.removedUs === null) return { toolset: viewToolset(before, content.bytes) };
    const after: ToolsetRow = isSame
      ? { ...before, removedUs: null }
      : {
          tenantId: key.tenantId,
          workspaceId: row.id,
          name: toolset.name,
          version: (before?.version ?? 0) + 1,
          hash: hashColumn(content.hash),
          o200kTokens: totalTokens(toolTokens),
          toolTokensJson: writeToolTokens(toolTokens),
          updatedUs: nowUs,
          removedUs: null,
        };
    await workspaces.putContents([content]);
    await workspaces.putToolset(after);
    await workspaces.change(row, { updatedUs: nowUs });
    return { toolset: viewToolset(after, content.bytes) };
  });
}

export async function getToolset(
  { store }: WorkspaceDeps,
  tenantId: string,
  workspace: string,
  name: string,
): Promise<ToolsetAnswer> {
  const place = await store.require(tenantId, workspace);
  const row = await store.findToolset(tenantId, place.id, name);
  if (!row) throw toolsetNotFound(workspace, name);
  const [bytes] = await store.contents(tenantId, [row.hash]);
  return { toolset: viewToolset(row, bytes!) };
}

/** Removes a toolset. */
export async function deleteToolset(
  deps: WorkspaceDeps,
  key: WriteKey<object>,
  workspace: string,
  name: string,
): Promise<object> {
  const nowUs = toMicroseconds(deps.clock.now());
  return deps.store.write(key, nowUs, async (workspaces) => {
    const row = await requireWorkspace(workspaces, workspace);
    const before = await workspaces.toolset(row, name);
    if (!before || before.removedUs !== null) throw toolsetNotFound(workspace, name);
    await workspaces.putToolset({ ...before, removedUs: nowUs });
    await workspaces.change(row, { updatedUs: nowUs });
    return {};
  });
}

export function toolsetNotFound(workspace: string, toolset: string): QuireError {
  return new QuireError("TOOLSET_NOT_FOUND", `the workspace has no toolset ${JSON.stringify(toolset)}`, {
    metadata: { workspace, toolset },
  });
}
