import { fromMicroseconds } from "../domain/clock.js";
import { ownBytes } from "../domain/memory-size.js";
import type {
  CapabilitySnapshot,
  Document,
  DocumentKind,
  RuntimeFacts,
  Toolset,
  Workspace,
} from "../domain/workspace.js";
import type { DocumentRow, StoredWorkspace, ToolsetRow, WorkspaceRow } from "../storage/workspace/rows.js";
import { decodeSnapshot, decodeToolset } from "./workspace-codec.js";

/** Stored rows as the vocabulary shows them. */

export function viewWorkspace({ row, documents, toolsets }: StoredWorkspace): Workspace {
  return {
    id: row.id,
    name: row.name,
    path: row.path,
    runtime: viewRuntime(row),
    documents: documents.map((document) => viewDocument(document)),
    capabilityCount: row.capabilityCount,
    toolsets,
    createTime: fromMicroseconds(row.createdUs),
    updateTime: fromMicroseconds(row.updatedUs),
  };
}

export function viewRuntime({ host, os, arch }: WorkspaceRow): RuntimeFacts | undefined {
  return host || os || arch ? { host, os, arch } : undefined;
}

/** A document, without its content unless that is given. */
export function viewDocument(row: DocumentRow, content = ""): Document {
  return {
    path: row.path,
    kind: row.kind as DocumentKind,
    content,
    version: row.version,
    hash: ownBytes(row.hash),
    sizeBytes: row.byteCount,
    o200kTokens: row.o200kTokens,
    updateTime: fromMicroseconds(row.updatedUs),
  };
}

export const emptySnapshot: CapabilitySnapshot = {
  capabilities: [],
  credentialsConfigured: 0,
  credentialsBroken: [],
  hash: Buffer.alloc(0),
  snapshotTime: undefined,
};

export function viewSnapshot(bytes: Uint8Array, hash: Uint8Array, putUs: bigint): CapabilitySnapshot {
  return { ...decodeSnapshot(bytes), hash: ownBytes(hash), snapshotTime: fromMicroseconds(putUs) };
}

export function viewToolset(row: ToolsetRow, bytes: Uint8Array): Toolset {
  return {
    ...decodeToolset(bytes),
    version: row.version,
    hash: ownBytes(row.hash),
    o200kTokens: row.o200kTokens,
    updateTime: fromMicroseconds(row.updatedUs),
  };
}
