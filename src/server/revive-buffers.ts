/** A clone from a worker thread has plain arrays of bytes where there were buffers: they become buffers again. */
export function reviveBuffers<T>(value: T): T {
  return revived(value) as T;
}

function revived(value: unknown): unknown {
  if (value instanceof Uint8Array) return asBuffer(value);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  const fields = value as Record<string, unknown>;
  for (const key of Object.keys(fields)) {
    const field = fields[key];
    if (typeof field === "object" && field !== null) fields[key] = revived(field);
  }
  return value;
}

export function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, length);
}
