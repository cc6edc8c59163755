import type { Capsule } from "../domain/capsule.js";
import type { CapsuleSummary } from "../storage/capsule/rows.js";
import { pageTokenInvalid, readPageToken, writePageToken } from "../storage/page-token.js";
import { viewCapsule } from "./capsule-codec.js";
import { capsuleNotFound } from "./capsule-reader.js";
import type { CapsuleDeps } from "./capsules.js";

/** Clients take 4 MB at most unless they are told otherwise, and a page need not be full. */
const pageBytes = 2 * 1024 * 1024;

export interface CapsulePage {
  readonly capsules: readonly Capsule[];
  readonly nextPageToken: string;
}

export interface ListCapsules {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** A page of the latest versions, by name. */
export async function listCapsules(
  deps: CapsuleDeps,
  tenantId: string,
  command: ListCapsules,
): Promise<CapsulePage> {
  const [afterName] = readPageToken("capsules", command.pageToken, [""]);
  const found = await deps.store.listLatest(tenantId, afterName!, command.pageSize + 1);
  return page(deps, tenantId, found, command.pageSize, (last) => writePageToken("capsules", [last.name]));
}

export interface ListCapsuleVersions extends ListCapsules {
  readonly name: string;
}

const afterAll = 2 ** 31 - 1;

/** A page of a capsule's versions, the newest first. */
export async function listCapsuleVersions(
  deps: CapsuleDeps,
  tenantId: string,
  command: ListCapsuleVersions,
): Promise<CapsulePage> {
  const list = "capsule-versions";
  const head = await deps.store.findHead(tenantId, command.name);
  if (!head) throw capsuleNotFound(command.name);
  const [capsuleId, before] = readPageToken(list, command.pageToken, [head.id, String(afterAll)]);
  const beforeVersion = Number(before);
  const isPosition = Number.isInteger(beforeVersion) && beforeVersion > 0 && beforeVersion <= afterAll;
  if (capsuleId !== head.id || !isPosition) throw pageTokenInvalid();
  const found = await deps.store.listVersions(tenantId, head.id, beforeVersion, command.pageSize + 1);
  return page(deps, tenantId, found, command.pageSize, (last) =>
    writePageToken(list, [head.id, String(last.version)]),
  );
}

async function page(
  deps: CapsuleDeps,
  tenantId: string,
  found: readonly CapsuleSummary[],
  pageSize: number,
  tokenAfter: (last: CapsuleSummary) => string,
): Promise<CapsulePage> {
  const given = firstOf(found, pageSize);
  const stored = await deps.store.withBodies(tenantId, given);
  const nextPageToken = found.length > given.length ? tokenAfter(given.at(-1)!) : "";
  return { capsules: stored.map(viewCapsule), nextPageToken };
}

/** As many as fit a page; one at least. */
function firstOf(found: readonly CapsuleSummary[], pageSize: number): readonly CapsuleSummary[] {
  let bytes = 0;
  const end = found.findIndex((summary, index) => {
    bytes += summary.bodyBytes;
    return index >= pageSize || (index > 0 && bytes > pageBytes);
  });
  return end < 0 ? found : found.slice(0, end);
}
