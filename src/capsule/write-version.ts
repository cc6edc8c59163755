import type { Capsule, CapsuleBody, CapsuleCause } from "../domain/capsule.js";
import { sha256 } from "../domain/hash.js";
import type { CapsuleTransaction, NextVersion } from "../storage/capsule/capsule-transaction.js";
import { encodeBody, viewCapsule } from "./capsule-codec.js";

interface VersionDraft extends NextVersion {
  readonly name: string;
  readonly body: CapsuleBody;
  readonly cause: CapsuleCause;
  readonly nowUs: bigint;
}

/** Stores a version whose number was taken, and gives it as it will be read. */
export async function writeVersion(capsules: CapsuleTransaction, draft: VersionDraft): Promise<Capsule> {
  const { id, version, name, cause, nowUs } = draft;
  const body = encodeBody(draft.body);
  const stored = { version, hash: sha256(body), cause, createdUs: nowUs, bodyBytes: body.length, body };
  await capsules.insertVersion({ capsuleId: id, ...stored });
  return viewCapsule({ id, name, ...stored });
}
