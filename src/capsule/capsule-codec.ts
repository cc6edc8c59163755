import { CapsuleBody as WireBody } from "../contract/gen/quire/v1/capsule.js";
import type { Capsule, CapsuleBody, CapsuleCause } from "../domain/capsule.js";
import { fromMicroseconds } from "../domain/clock.js";
import type { StoredCapsule } from "../storage/capsule/rows.js";

/** The bytes that are stored and hashed. */
export function encodeBody(body: CapsuleBody): Buffer {
  return Buffer.from(WireBody.encode(body).finish());
}

export function decodeBody(bytes: Uint8Array): CapsuleBody {
  return WireBody.decode(bytes);
}

/** A stored version as the contract shows it. */
export function viewCapsule(stored: StoredCapsule): Capsule {
  return {
    id: stored.id,
    name: stored.name,
    version: stored.version,
    body: decodeBody(stored.body),
    hash: stored.hash,
    cause: stored.cause as CapsuleCause,
    createTime: fromMicroseconds(stored.createdUs),
  };
}
