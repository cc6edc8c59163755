import { type Capsule, type CapsuleBody, CapsuleCause } from "../domain/capsule.js";
import { toMicroseconds } from "../domain/clock.js";
import { QuireError } from "../errors/quire-error.js";
import type { CapsuleTransaction, NextVersion } from "../storage/capsule/capsule-transaction.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { capsuleNotFound } from "./capsule-reader.js";
import type { CapsuleDeps } from "./capsules.js";
import { writeVersion } from "./write-version.js";

export interface CapsuleAnswer {
  readonly capsule: Capsule | undefined;
}

export interface PutCapsule {
  readonly name: string;
  readonly body: CapsuleBody;
  /** The latest version as the caller knows it; 0 for none. */
  readonly expectedVersion?: number | undefined;
}

/** Makes a new version of a capsule, and the capsule with its first one. */
export async function putCapsule(
  deps: CapsuleDeps,
  key: WriteKey<CapsuleAnswer>,
  command: PutCapsule,
): Promise<CapsuleAnswer> {
  const nowUs = toMicroseconds(deps.clock.now());
  return deps.store.write(key, nowUs, async (capsules) => {
    const { name, body } = command;
    const next = await takeVersion(deps, capsules, command);
    const capsule = await writeVersion(capsules, { ...next, name, body, cause: CapsuleCause.PUT, nowUs });
    return { answer: { capsule }, capsuleId: next.id };
  });
}

async function takeVersion(
  deps: CapsuleDeps,
  capsules: CapsuleTransaction,
  command: PutCapsule,
): Promise<NextVersion> {
  const { name, expectedVersion } = command;
  const next = await capsules.nextVersion(name);
  if (!next) {
    if (expectedVersion) throw capsuleNotFound(name);
    return capsules.firstVersion(name, deps.ids.next());
  }
  const latest = next.version - 1;
  if (expectedVersion !== undefined && expectedVersion !== latest) {
    throw QuireError.field(
      "VERSION_MISMATCH",
      "expected_version",
      `is not the latest version, which is ${latest}`,
      {
        capsule: name,
        version: String(latest),
      },
    );
  }
  return next;
}
