import { createHash, hash } from "node:crypto";

const copiedBytes = 4 * 1024;

/** SHA-256 over the given bytes, one after the other. */
export function sha256(...chunks: readonly Uint8Array[]): Buffer {
  // Without an object for what is hashed at once: that costs more than a small hash, and than to put small chunks together.
  if (chunks.length === 1) return hash("sha256", chunks[0]!, "buffer");
  let bytes = 0;
  for (const chunk of chunks) bytes += chunk.length;
  if (bytes <= copiedBytes) return hash("sha256", Buffer.concat(chunks, bytes), "buffer");
  const hashing = createHash("sha256");
  for (const chunk of chunks) hashing.update(chunk);
  return hashing.digest();
}

/** The hash that stands for a whole thread: its parent's chain hash, then this turn's content hash. */
export function chainHash(parentChainHash: Uint8Array | undefined, contentHash: Uint8Array): Buffer {
  return sha256(parentChainHash ? Buffer.concat([parentChainHash, contentHash]) : contentHash);
}
