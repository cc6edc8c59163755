import { describe, expect, test } from "vitest";
import { assistant, user } from "../support/messages.js";
import { type ServedDesk, serveDesk } from "./served-desk.js";
import { deskRequest } from "./travel-desk.js";

const context = { ...deskRequest, capsule: "atlas" };

async function assemblyOf({ quire }: ServedDesk, more: object = {}): Promise<string> {
  const { context: built } = await quire.assembly.buildContext({ context: { ...context, ...more } });
  return built!.assemblyId;
}

async function addTurn({ quire }: ServedDesk, text: string): Promise<string> {
  const { session } = await quire.ledger.getSession({ session: "desk" });
  const messages = [user(text), assistant("Done.")];
  const { turn } = await quire.ledger.recordTurn({
    session: "desk",
    parentTurnId: session!.headTurnId,
    messages,
  });
  return turn!.id;
}

describe("CompareReceipts", () => {
  async function compared(
    desk: ServedDesk,
    change: () => Promise<unknown>,
    [before, after]: readonly [object, object] = [{}, {}],
  ) {
    const firstReceiptId = await assemblyOf(desk, before);
    await change();
    const secondReceiptId = await assemblyOf(desk, after);
    return desk.quire.assembly.compareReceipts({ firstReceiptId, secondReceiptId });
  }
  const nothing = async () => undefined;

  test("names the workspace rules when AGENTS.md was edited, and the byte", async () => {
    const desk = await serveDesk();
    const content = "# Rules\n\n- Answer in half sentences.";
    const edit = () =>
      desk.quire.workspaces.putDocuments({ workspace: "desk", documents: [{ path: "AGENTS.md", content }] });
    const { context: before } = await desk.quire.assembly.buildContext({ context });
    const { receipt } = await desk.quire.assembly.getReceipt({ receiptId: before!.assemblyId });
    const answer = await compared(desk, edit);
    const at = Buffer.byteLength(before!.systemPrompt.slice(0, before!.systemPrompt.indexOf("full")));
    expect(answer).toMatchObject({
      equal: false,
      extends: false,
      layer: "system",
      section: "workspace_rules",
    });
    expect(answer.firstDifference).toBe(receipt!.layerBytes[0]! + at);
    expect(answer.changedInputs).toMatchObject([{ kind: "document", name: "AGENTS.md", version: 2 }]);
  });

  test("names a section that was added or taken away, and a tool that was", async () => {
    const desk = await serveDesk();
    const mode = { modeBlocks: [{ name: "sovereign", content: "You decide." }] };
    expect(await compared(desk, nothing, [{}, mode])).toMatchObject({
      layer: "system",
      section: "mode sovereign",
    });
    expect(
      await compared(desk, nothing, [{ permissionsGranted: ["x"] }, { permissionsGranted: [] }]),
    ).toMatchObject({ section: "permissions" });
    const tools = {
      tools: [{ name: "rooms", description: "Looks for larger rooms.", capability: "hotels" }],
    };
    expect(await compared(desk, nothing, [{}, tools])).toMatchObject({
      layer: "tools",
      section: "tool rooms",
    });
    expect(await compared(desk, nothing, [{}, { permissionsGranted: ["booking.write"] }])).toMatchObject({
      layer: "tools",
      section: "tool book",
    });
  });

  test("says that neighbouring turns extend each other, and names the turn", async () => {
    const desk = await serveDesk();
    let turnId = "";
    const answer = await compared(desk, async () => {
      turnId = await addTurn(desk, "Book both, please.");
    });
    expect(answer).toMatchObject({
      equal: false,
      extends: true,
      layer: "history",
      section: `turn ${turnId}`,
      changedInputs: [],
    });
  });

  test("names the cut when history begins elsewhere", async () => {
    const desk = await serveDesk();
    const answer = await compared(desk, nothing, [{}, { settings: { maxMessages: 6 } }]);
    expect(answer).toMatchObject({ equal: false, extends: false, layer: "history", section: "cut" });
  });

  test("says that a context equals itself", async () => {
    const desk = await serveDesk();
    const receiptId = await assemblyOf(desk);
    const answer = await desk.quire.assembly.compareReceipts({
      firstReceiptId: receiptId,
      secondReceiptId: receiptId,
    });
    expect(answer).toMatchObject({ equal: true, extends: true, layer: "", section: "" });
  });
});
