import { describe, expect, test } from "vitest";
import type { Quire } from "../../src/index.js";
import { serveDesk } from "./served-desk.js";
import { deskRequest, putCapsule } from "./travel-desk.js";

async function shownBy(quire: Quire, capsule: string) {
  const { context } = await quire.assembly.buildContext({ context: { ...deskRequest, capsule } });
  const { systemPrompt, tools } = context!;
  const environment = /## Environment\n[\s\S]*?\n\nRuntime:/.exec(systemPrompt)?.[0] ?? "";
  const names = ["flights", "hotels", "slack", "payments"].filter((name) => environment.includes(name));
  return { names, tools: tools.map(({ name }) => name) };
}

describe("the capabilities that a capsule enables", () => {
  test("are all of them but the denied ones where it does not say, and what is denied is not advertised", async () => {
    const { quire } = await serveDesk();
    await putCapsule(quire, "unset");
    expect(await shownBy(quire, "unset")).toEqual({
      names: ["flights", "hotels", "slack"],
      tools: ["search", "rooms", "send", "spawn"],
    });
  });

  test("are those that it names, and only they are advertised", async () => {
    const { quire } = await serveDesk();
    await putCapsule(quire, "some", { persona: { enabledCapabilities: { names: ["hotels", "payments"] } } });
    expect(await shownBy(quire, "some")).toEqual({ names: ["hotels"], tools: ["rooms"] });
  });

  test("are none where it names none, and it is read back so", async () => {
    const { quire } = await serveDesk();
    await putCapsule(quire, "none", { persona: { enabledCapabilities: { names: [] } } });
    expect(await shownBy(quire, "none")).toEqual({ names: [], tools: [] });
    const read = async (name: string) =>
      (await quire.capsules.getCapsule({ name })).capsule!.body!.persona!.enabledCapabilities;
    expect(await read("none")).toEqual({ names: [] });
    expect(await read("atlas")).toBeUndefined();
  });
});
