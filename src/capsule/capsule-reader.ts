import type { BoundedCache } from "../domain/bounded-cache.js";
import { Caches } from "../domain/caches.js";
import type { Capsule } from "../domain/capsule.js";
import { megabyte, ownBytes } from "../domain/memory-size.js";
import type { Soon } from "../domain/soon.js";
import { QuireError } from "../errors/quire-error.js";
import type { CapsuleHead, CapsuleStore } from "../storage/capsule/capsule-store.js";
import { viewCapsule } from "./capsule-codec.js";

const maxCacheBytes = 64 * megabyte;

interface Version {
  readonly answer: { readonly capsule: Capsule };
  readonly bodyBytes: number;
}

/**
 * Versions of capsules, which never change, so those that were read are kept in memory. Which
 * capsule has a name and which version is its latest is asked each time.
 */
export class CapsuleReader {
  private readonly versions: BoundedCache<Version>;

  constructor(
    private readonly store: CapsuleStore,
    caches = new Caches(),
  ) {
    // A body is read into texts and objects.
    this.versions = caches.create<Version>(
      "capsules",
      maxCacheBytes,
      ({ bodyBytes }) => 2_000 + 6 * bodyBytes,
    );
  }

  /** One version; the latest for 0. Fails with CAPSULE_NOT_FOUND. */
  resolve(tenantId: string, name: string, version: number): Soon<{ readonly capsule: Capsule }> {
    const head = this.store.findHead(tenantId, name);
    const find = (found: CapsuleHead | undefined) => this.find(tenantId, name, version, found);
    return head instanceof Promise ? head.then(find) : find(head);
  }

  private find(
    tenantId: string,
    name: string,
    version: number,
    head: CapsuleHead | undefined,
  ): Soon<{ readonly capsule: Capsule }> {
    if (!head || version > head.latestVersion) return Promise.reject(capsuleNotFound(name, version));
    const wanted = version === 0 ? head.latestVersion : version;
    const key = `${tenantId}/${head.id}/${wanted}`;
    return this.versions.get(key)?.answer ?? this.read(tenantId, name, version, head.id, wanted, key);
  }

  private async read(
    tenantId: string,
    name: string,
    version: number,
    id: string,
    wanted: number,
    key: string,
  ): Promise<{ readonly capsule: Capsule }> {
    const stored = await this.store.findVersion(tenantId, id, wanted);
    // Deleted since its head was read.
    if (!stored) throw capsuleNotFound(name, version);
    const { bodyBytes, hash } = stored;
    const answer = { capsule: viewCapsule({ ...stored, hash: ownBytes(hash) }) };
    this.versions.set(key, { answer, bodyBytes });
    return answer;
  }
}

export function capsuleNotFound(name: string, version = 0): QuireError {
  const which = version === 0 ? "" : `version ${version} of a `;
  return new QuireError("CAPSULE_NOT_FOUND", `there is no ${which}capsule ${JSON.stringify(name)}`, {
    metadata: { capsule: name, ...(version === 0 ? {} : { version: String(version) }) },
  });
}
