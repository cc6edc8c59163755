import { toMicroseconds } from "../domain/clock.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { capsuleNotFound } from "./capsule-reader.js";
import type { CapsuleDeps } from "./capsules.js";

export interface DeletedCapsule {
  readonly deletedVersions: number;
}

/** Removes a capsule with all its versions. */
export async function deleteCapsule(
  deps: CapsuleDeps,
  key: WriteKey<DeletedCapsule>,
  name: string,
): Promise<DeletedCapsule> {
  const nowUs = toMicroseconds(deps.clock.now());
  return deps.store.write(key, nowUs, async (capsules) => {
    const deletedVersions = await capsules.remove(name);
    if (deletedVersions === undefined) throw capsuleNotFound(name);
    return { answer: { deletedVersions }, capsuleId: null };
  });
}
