import {
  CapabilitySnapshot as WireSnapshot,
  Toolset as WireToolset,
} from "../contract/gen/quire/v1/workspace.js";
import type { CapabilitySnapshot, Toolset } from "../domain/workspace.js";

/** Snapshots and toolsets as they are stored and hashed: in wire form, without what only the server sets. */

const noHash = Buffer.alloc(0);

export function encodeSnapshot(snapshot: CapabilitySnapshot): Buffer {
  return Buffer.from(WireSnapshot.encode({ ...snapshot, hash: noHash, snapshotTime: undefined }).finish());
}

export function decodeSnapshot(bytes: Uint8Array): CapabilitySnapshot {
  return WireSnapshot.decode(bytes);
}

export function encodeToolset(toolset: Toolset): Buffer {
  const bare = { ...toolset, version: 0, hash: noHash, o200kTokens: 0, updateTime: undefined };
  return Buffer.from(WireToolset.encode(bare).finish());
}

export function decodeToolset(bytes: Uint8Array): Toolset {
  return WireToolset.decode(bytes);
}
