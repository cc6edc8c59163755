import { QuireError } from "../../errors/quire-error.js";
import { task } from "../../offload/offload.js";
import { TaskTimedOut, ThrowawayThread } from "../../offload/throwaway-thread.js";
import type { BlockReads } from "../../storage/memory/block-reads.js";
import type { BlockRow } from "../../storage/memory/rows.js";
import type { CheckedUpdate, checkUpdate, UpdateToCheck } from "./check-update.js";
import type { openDocument } from "./document-copies.js";

const opening = task<typeof openDocument>("src/memory/sync/document-copies.ts", "openDocument");
const checking = task<typeof checkUpdate>("src/memory/sync/check-update.ts", "checkUpdate");
/** No update that is in order takes nearly as long. */
const timeoutMs = 20_000;
const openTimeoutMs = 600_000;
/** What hostile updates leave behind, the library gives back late or never. With more than this a thread makes room for another one. */
const mostHeldBytes = 256 * 1024 * 1024;
const mostAttempts = 5;
const mostKnown = 1_000;

export type Verdict = Exclude<CheckedUpdate, { readonly kind: "not open" }>;

/** Has clients' updates looked at, in a thread that may be lost by it. It is sent of a document only what it lacks. */
export class UpdateChecker {
  private readonly thread = new ThrowawayThread(timeoutMs);
  /** At which revision the thread has a block's document open, as far as is known. */
  private readonly revisions = new Map<string, number>();

  async check(reads: BlockReads, row: BlockRow, update: Omit<UpdateToCheck, "base">): Promise<Verdict> {
    const { tenantId, id, revision } = row;
    const block = `${tenantId}/${id}`;
    const frontiers = (await reads.revision(tenantId, id, revision))?.frontiers ?? "[]";
    const openedAt = this.revisions.get(block);
    if (openedAt !== undefined && openedAt <= revision) {
      const tail = await reads.updates(tenantId, id, openedAt, revision);
      const verdict = await this.run({ ...update, base: { block, revision, frontiers, openedAt, tail } });
      if (verdict.kind !== "not open") return verdict;
    }
    const { snapshot, snapshotRevision } = await reads.snapshot(tenantId, id);
    const tail = await reads.updates(tenantId, id, snapshotRevision, revision);
    const stored = { block, revision, snapshot: Buffer.from(snapshot), tail };
    const base = { block, revision, frontiers, openedAt: revision, tail: [] };
    // Others may have the thread thrown away, or their documents opened, between the two.
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      // A long history on a busy machine takes its time, which is not the update's.
      await this.thread.run(opening, stored, () => false, openTimeoutMs);
      const verdict = await this.run({ ...update, base });
      if (verdict.kind !== "not open") return verdict;
    }
    const message = "too many blocks are being synchronized at once; try again";
    throw new QuireError("STORAGE_UNAVAILABLE", message, { retryAfterMs: 1_000 });
  }

  close(): Promise<void> {
    return this.thread.close();
  }

  private async run(input: UpdateToCheck): Promise<CheckedUpdate> {
    const { block, revision } = input.base;
    const refused = (why: string): CheckedUpdate => ({ kind: "refused", why, isHarmed: true });
    const verdict = await this.thread
      .run(checking, input, isHarmed)
      .catch((error: unknown) =>
        refused(error instanceof TaskTimedOut ? "it takes too long to read" : "it cannot be read"),
      );
    this.revisions.delete(block);
    if (verdict.kind === "fine") this.revisions.set(block, revision);
    const [oldest] = this.revisions.keys();
    if (this.revisions.size > mostKnown) this.revisions.delete(oldest!);
    return verdict;
  }
}

function isHarmed(answer: CheckedUpdate, heldBytes: number): boolean {
  return heldBytes > mostHeldBytes || (answer.kind === "refused" && answer.isHarmed);
}
