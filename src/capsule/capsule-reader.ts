import { LRUCache } from "lru-cache";
import type { Capsule } from "../domain/capsule.js";
import { QuireError } from "../errors/quire-error.js";
import type { CapsuleStore } from "../storage/capsule/capsule-store.js";
import { viewCapsule } from "./capsule-codec.js";

const maxCacheBytes = 64 * 1024 * 1024;

/**
 * Versions of capsules, which never change, so those that were read are kept in memory; bounded by count and by bytes. Which
 * capsule has a name and which version is its latest is asked each time.
 */
export class CapsuleReader {
  private readonly versions: LRUCache<string, { readonly capsule: Capsule }>;

  constructor(
    private readonly store: CapsuleStore,
    cacheEntries = 1_024,
  ) {
    this.versions = new LRUCache({ max: cacheEntries, maxSize: maxCacheBytes });
  }

  /** One version; the latest for 0. Fails with CAPSULE_NOT_FOUND. */
  async resolve(tenantId: string, name: string, version: number): Promise<{ readonly capsule: Capsule }> {
    const head = await this.store.findHead(tenantId, name);
    if (!head || version > head.latestVersion) throw capsuleNotFound(name, version);
    const wanted = version === 0 ? head.latestVersion : version;
    const key = `${tenantId}/${head.id}/${wanted}`;
    const known = this.versions.get(key);
    if (known) return known;
    const stored = await this.store.findVersion(tenantId, head.id, wanted);
    // Deleted since its head was read.
    if (!stored) throw capsuleNotFound(name, version);
    const answer = { capsule: viewCapsule(stored) };
    this.versions.set(key, answer, { size: stored.bodyBytes + 1_000 });
    return answer;
  }
}

export function capsuleNotFound(name: string, version = 0): QuireError {
  const which = version === 0 ? "" : `version ${version} of a `;
  return new QuireError("CAPSULE_NOT_FOUND", `there is no ${which}capsule ${JSON.stringify(name)}`, {
    metadata: { capsule: name, ...(version === 0 ? {} : { version: String(version) }) },
  });
}
