import { describe, expect, test } from "vitest";
import { type ServedDesk, serveDesk, serveFolder } from "../assembly/served-desk.js";
import { deskRequest, putCapsule, setUpTravelDesk } from "../assembly/travel-desk.js";
import { failures } from "../support/server.js";
import { tempFolder } from "../support/temp-folder.js";

const context = { ...deskRequest, capsule: "atlas" };
const noReceipt = "0198c0de-0000-7000-8000-000000000001";

async function assemblyOf({ quire }: ServedDesk, more: object = {}): Promise<string> {
  const { context: built } = await quire.assembly.buildContext({ context: { ...context, ...more } });
  return built!.assemblyId;
}

describe("a receipt", () => {
  test("can be read at once, and after a restart", async () => {
    const folder = tempFolder();
    const first = await serveFolder(folder);
    await setUpTravelDesk(first.quire);
    await putCapsule(first.quire, "atlas");
    const assemblyId = await assemblyOf(first);
    const { receipt } = await first.quire.assembly.getReceipt({ assemblyId });
    expect(
      receipt!.inputs.map(({ kind, name }) => `${kind.slice("INPUT_KIND_".length).toLowerCase()} ${name}`),
    ).toEqual(
      expect.arrayContaining([
        "capsule atlas",
        "document AGENTS.md",
        "toolset travel",
        "capabilities desk",
        "templates system",
      ]),
    );
    const replayed = await first.quire.assembly.replayContext({ assemblyId });
    await first.stop();
    const second = await serveFolder(folder);
    expect(await second.quire.assembly.getReceipt({ assemblyId })).toEqual({ receipt });
    expect(await second.quire.assembly.replayContext({ assemblyId })).toEqual(replayed);
  });

  test("is erased with its session", async () => {
    const desk = await serveDesk();
    const assemblyId = await assemblyOf(desk);
    await desk.engine.assembly.receipts.flush();
    await desk.quire.ledger.deleteSession({ session: "desk" });
    for (const error of await failures([
      desk.quire.assembly.getReceipt({ assemblyId }),
      desk.quire.assembly.replayContext({ assemblyId }),
    ])) {
      expect(error).toMatchObject({
        reason: "RECEIPT_NOT_FOUND",
        metadata: { assembly_id: assemblyId },
      });
    }
  });

  test("that is not there is RECEIPT_NOT_FOUND, for every call that names one", async () => {
    const { assembly } = (await serveDesk()).quire;
    const calls = [
      assembly.getReceipt({ assemblyId: noReceipt }),
      assembly.replayContext({ assemblyId: noReceipt }),
      assembly.compareReceipts({ firstAssemblyId: noReceipt, secondAssemblyId: noReceipt }),
    ];
    for (const error of await failures(calls))
      expect(error).toMatchObject({
        reason: "RECEIPT_NOT_FOUND",
        metadata: { assembly_id: noReceipt },
      });
  });

  test("whose layers are no longer kept is RECEIPT_EXPIRED to replay and compare, and can still be read", async () => {
    const desk = await serveDesk();
    const { quire, engine } = desk;
    const assemblyId = await assemblyOf(desk);
    await engine.assembly.receipts.flush();
    await engine.database.transaction((tx) => tx.receiptBlob.deleteMany({}));
    const calls = [
      quire.assembly.replayContext({ assemblyId }),
      quire.assembly.compareReceipts({ firstAssemblyId: assemblyId, secondAssemblyId: assemblyId }),
    ];
    for (const error of await failures(calls))
      expect(error).toMatchObject({
        reason: "RECEIPT_EXPIRED",
        metadata: { assembly_id: assemblyId },
      });
    expect((await quire.assembly.getReceipt({ assemblyId })).receipt!.assemblyId).toBe(assemblyId);
  });
});
