import { describe, expect, test } from "vitest";
import { InputKind } from "../../src/contract/gen/quire/v1/assembly.js";
import { ContextLayer } from "../../src/contract/gen/quire/v1/assembly_service.js";
import { change } from "../assembly/change.js";
import { type ServedDesk, serveDesk } from "../assembly/served-desk.js";
import { deskRequest } from "../assembly/travel-desk.js";
import { assistant, user } from "../support/messages.js";

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
    const firstAssemblyId = await assemblyOf(desk, before);
    await change();
    const secondAssemblyId = await assemblyOf(desk, after);
    return desk.quire.assembly.compareReceipts({ firstAssemblyId, secondAssemblyId });
  }
  const nothing = async () => undefined;

  test("names the workspace rules when AGENTS.md was edited, and the byte", async () => {
    const desk = await serveDesk();
    const content = "# Rules\n\n- Answer in half sentences.";
    const edit = () =>
      desk.quire.workspaces.putDocuments({ workspace: "desk", documents: [{ path: "AGENTS.md", content }] });
    const { context: before } = await desk.quire.assembly.buildContext({ context });
    const { receipt } = await desk.quire.assembly.getReceipt({ assemblyId: before!.assemblyId });
    const answer = await compared(desk, edit);
    const at = Buffer.byteLength(before!.systemPrompt.slice(0, before!.systemPrompt.indexOf("full")));
    expect(answer).toMatchObject({
      equal: false,
      extends: false,
      layer: ContextLayer.SYSTEM,
      cause: change("SECTION", "workspace_rules"),
    });
    expect(answer.firstDifference).toBe(receipt!.layerBytes!.tools + at);
    expect(answer.changedInputs).toMatchObject([{ kind: InputKind.DOCUMENT, name: "AGENTS.md", version: 2 }]);
  });

  test("names a section that was added or taken away, and a tool that was", async () => {
    const desk = await serveDesk();
    const mode = { modeBlocks: [{ name: "sovereign", content: "You decide." }] };
    expect(await compared(desk, nothing, [{}, mode])).toMatchObject({
      layer: ContextLayer.SYSTEM,
      cause: change("SECTION", "mode sovereign"),
    });
    expect(
      await compared(desk, nothing, [{ permissionsGranted: ["x"] }, { permissionsGranted: [] }]),
    ).toMatchObject({ cause: change("SECTION", "permissions") });
    const tools = {
      tools: [{ name: "rooms", description: "Looks for larger rooms.", capability: "hotels" }],
    };
    expect(await compared(desk, nothing, [{}, tools])).toMatchObject({
      layer: ContextLayer.TOOLS,
      cause: change("TOOLS", "rooms"),
    });
    expect(await compared(desk, nothing, [{}, { permissionsGranted: ["booking.write"] }])).toMatchObject({
      layer: ContextLayer.TOOLS,
      cause: change("TOOLS", "book"),
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
      layer: ContextLayer.HISTORY,
      cause: change("TURN", turnId),
      changedInputs: [],
    });
  });

  test("names the cut when history begins elsewhere", async () => {
    const desk = await serveDesk();
    const answer = await compared(desk, nothing, [{}, { settings: { maxMessages: 6 } }]);
    expect(answer).toMatchObject({
      equal: false,
      extends: false,
      layer: ContextLayer.HISTORY,
      cause: change("CUT"),
    });
  });

  test("says that a context equals itself", async () => {
    const desk = await serveDesk();
    const assemblyId = await assemblyOf(desk);
    const answer = await desk.quire.assembly.compareReceipts({
      firstAssemblyId: assemblyId,
      secondAssemblyId: assemblyId,
    });
    expect(answer).toMatchObject({
      equal: true,
      extends: true,
      layer: ContextLayer.UNSPECIFIED,
      cause: undefined,
    });
  });
});
