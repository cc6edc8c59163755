import { createHash } from "node:crypto";

/** SHA-256 over the given bytes, one after the other. */
export function sha256(...chunks: readonly Uint8Array[]): Buffer {
  const hash = createHash("sha256");
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest();
}

/** The hash that stands for a whole thread: its parent's chain hash, then this turn's content hash. */
export function chainHash(parentChainHash: Uint8Array | undefined, contentHash: Uint8Array): Buffer {
  return parentChainHash ? sha256(parentChainHash, contentHash) : sha256(contentHash);
}
