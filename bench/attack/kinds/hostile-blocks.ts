import { LoroDoc, type PeerID } from "loro-crdt";
import { BlockOwner, OwnerKind } from "../../../src/contract/gen/quire/v1/memory.js";
import {
  CreateBlockRequest,
  MemoryServiceService,
  SyncBlockRequest,
  UpdateBlockRequest,
} from "../../../src/contract/gen/quire/v1/memory_service.js";
import type { Attack } from "../attack.js";
import { hostileUpdates, mutated, randomFrom } from "../hostile-updates.js";
import { someAtOnce, type Target } from "../target.js";

const stallLimitMs = 50;
const owner = BlockOwner.fromPartial({ kind: OwnerKind.AGENT, name: "entropy" });
const most = 1_048_576;

async function createBlock(target: Target, label: string): Promise<void> {
  const request = CreateBlockRequest.fromPartial({ block: { owner, label }, charLimit: 1_000_000 });
  await target.caller.must(MemoryServiceService.createBlock, request);
}

/** A copy of a block as a client keeps it, with a peer id to write under. */
async function openCopy(target: Target, label: string): Promise<LoroDoc> {
  const request = SyncBlockRequest.fromPartial({ block: { owner, label }, newPeer: true });
  const { update, peerId } = await target.caller.must(MemoryServiceService.syncBlock, request);
  const doc = new LoroDoc();
  if (update.length > 0) doc.import(update);
  doc.setPeerId(peerId as PeerID);
  return doc;
}

function sync(target: Target, label: string, update: Uint8Array) {
  const request = SyncBlockRequest.fromPartial({ block: { owner, label }, update: Buffer.from(update) });
  return target.caller.call(MemoryServiceService.syncBlock, request);
}

/** Nested bombs, floods of containers, compressed bombs, updates under others' names: all of them, over and over. */
export const hostileBlockUpdates: Attack = {
  stallLimitMs,
  async prepare(target) {
    const updates: { label: string; update: Uint8Array }[] = [];
    for (const [at, make] of Object.values(hostileUpdates).entries()) {
      const label = `b${at}`;
      await createBlock(target, label);
      const update = make(await openCopy(target, label));
      if (update.length <= most) updates.push({ label, update });
    }
    return async (signal) => {
      while (!signal.aborted)
        await someAtOnce(updates, 4, ({ label, update }) => sync(target, label, update), signal);
    };
  },
};

/** Damaged updates, half of them with a checksum that fits again. */
export const damagedBlockUpdates: Attack = {
  stallLimitMs,
  boundMs: 30_000,
  async prepare(target) {
    await createBlock(target, "damaged");
    const doc = await openCopy(target, "damaged");
    const from = doc.version();
    for (let at = 0; at < 60; at++) doc.getText("text").insert(at % 5, `word ${at} `);
    doc.getText("text").delete(3, 7);
    doc.commit();
    const good = doc.export({ mode: "update", from });
    const random = randomFrom(23);
    const all = Array.from({ length: 10_000 }, () => mutated(good, random));
    return (signal) => someAtOnce(all, 16, (update) => sync(target, "damaged", update), signal);
  },
};

/** Ten megabytes as one operation, and as many operations as a call takes. */
export const hugeBlockTexts: Attack = {
  stallLimitMs,
  async prepare(target) {
    for (const label of ["long", "many"]) await createBlock(target, label);
    const setText = (text: string) => ({ operation: { $case: "setText" as const, value: { text } } });
    const append = { operation: { $case: "appendText" as const, value: { text: "a few words " } } };
    const long = { block: { owner, label: "long" }, operations: [setText("words ".repeat(1_750_000))] };
    const full = { block: { owner, label: "long" }, operations: [setText("words ".repeat(160_000))] };
    const many = { block: { owner, label: "many" }, operations: Array(256).fill(append) };
    const requests = [long, full, many].map((one) => UpdateBlockRequest.fromPartial(one));
    return async (signal) => {
      while (!signal.aborted)
        await someAtOnce(
          requests,
          2,
          (request) => target.caller.call(MemoryServiceService.updateBlock, request),
          signal,
        );
    };
  },
};
