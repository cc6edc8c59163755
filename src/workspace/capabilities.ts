import { toMicroseconds } from "../domain/clock.js";
import type { CapabilitySnapshot } from "../domain/workspace.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { contentOf, hashColumn } from "../storage/workspace/content-store.js";
import type { WorkspaceDeps } from "./deps.js";
import { emptySnapshot, viewSnapshot } from "./views.js";
import { encodeSnapshot } from "./workspace-codec.js";
import { requireWorkspace } from "./workspaces.js";

export interface SnapshotAnswer {
  readonly snapshot: CapabilitySnapshot | undefined;
}

/** Replaces the capability snapshot. The same one again is only newer: the workspace did not change. */
export async function putCapabilities(
  deps: WorkspaceDeps,
  key: WriteKey<SnapshotAnswer>,
  workspace: string,
  snapshot: CapabilitySnapshot,
): Promise<SnapshotAnswer> {
  const content = contentOf(encodeSnapshot(snapshot));
  const nowUs = toMicroseconds(deps.clock.now());
  return deps.store.write(key, nowUs, async (workspaces) => {
    const row = await requireWorkspace(workspaces, workspace);
    const isSame = row.snapshotHash !== null && content.hash.equals(row.snapshotHash);
    await workspaces.putContents([content]);
    await workspaces.change(row, {
      snapshotHash: hashColumn(content.hash),
      snapshotUs: nowUs,
      capabilityCount: snapshot.capabilities.length,
      ...(isSame ? {} : { updatedUs: nowUs }),
    });
    return { snapshot: viewSnapshot(content.bytes, content.hash, nowUs) };
  });
}

/** The capability snapshot; an empty one where none was put. */
export async function getCapabilities(
  deps: WorkspaceDeps,
  tenantId: string,
  workspace: string,
): Promise<SnapshotAnswer> {
  const { row } = await deps.store.find(tenantId, workspace);
  const { snapshotHash, snapshotUs } = row;
  if (snapshotHash === null) return { snapshot: emptySnapshot };
  const [bytes] = await deps.store.contents(tenantId, [snapshotHash]);
  return { snapshot: viewSnapshot(bytes!, snapshotHash, snapshotUs!) };
}
