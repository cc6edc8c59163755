import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import type { Message, Part } from "../../src/contract/gen/quire/v1/message.js";
import { WarningKind } from "../../src/domain/warning.js";
import { findModel, parseCatalogue } from "../../src/models/catalogue.js";
import { mediaTokens } from "../../src/models/media-tokens.js";
import { conservativeTokens } from "../../src/tokens/media/conservative-tokens.js";
import { imageMedia } from "../../src/tokens/media/media.js";
import { assistant, user } from "../support/messages.js";
import { tempFolder } from "../support/temp-folder.js";
import { jpeg, pdf, png } from "../tokens/media/pictures.js";
import type { PartialContext } from "./agent.js";
import { serveFolder } from "./served-desk.js";

const catalogue = parseCatalogue(readFileSync(join(packageRoot, "src", "models", "catalogue.json"), "utf8"));
const picture = (value: Buffer) => ({
  content: {
    $case: "image" as const,
    value: { source: { $case: "data" as const, value }, mediaType: "image/png" },
  },
});
const file = (value: Buffer, mediaType: string) => ({
  content: {
    $case: "file" as const,
    value: { source: { $case: "data" as const, value }, mediaType, name: "a" },
  },
});
const linked = {
  content: {
    $case: "image" as const,
    value: { source: { $case: "uri" as const, value: "https://example.org/a.png" }, mediaType: "" },
  },
};
const text = (value: string) => ({ content: { $case: "text" as const, value: { text: value } } });

async function openDesk() {
  const { quire } = await serveFolder(tempFolder());
  await quire.capsules.putCapsule({ name: "atlas", body: { persona: { corePrompt: "You are Atlas." } } });
  await quire.ledger.createSession({ label: "desk" });
  const record = async (parts: readonly Part[]) => {
    const { session } = await quire.ledger.getSession({ session: "desk" });
    const asked: Message = { ...user("Look."), parts: [...user("Look.").parts, ...parts] };
    const messages = [asked, assistant("I see.")];
    return quire.ledger.recordTurn({ session: "desk", parentTurnId: session!.headTurnId, messages });
  };
  const build = async (content: readonly Part[], more: PartialContext = {}) => {
    const context = { session: "desk", capsule: "atlas", event: { content: [...content] }, ...more };
    return (await quire.assembly.buildContext({ context })).context!;
  };
  return { record, build };
}

describe("images and files are counted", () => {
  test("a context with 50 images is never over its window, whatever model reads it", async () => {
    const { record, build } = await openDesk();
    for (let turn = 0; turn < 50; turn++)
      await record([picture(turn % 2 ? png(1_600, 1_200) : jpeg(900, 2_000))]);
    for (const model of [
      "gpt-4o",
      "gpt-4o-mini",
      "gpt-5-nano",
      "gpt-4",
      "claude-sonnet-4-5",
      "gemini-2.5-flash",
    ]) {
      const { tokenBudget, history } = await build([text("And now?")], { model, dryRun: true });
      const { used, available, exact, countedTokens } = tokenBudget!;
      expect(used!.total, model).toBeLessThanOrEqual(available);
      expect(exact).toBe(false);
      expect(countedTokens).toBeGreaterThan(0);
      const { entry } = findModel(catalogue, model);
      const shown = history.flatMap(({ parts }) =>
        parts.flatMap(({ content }) => (content?.$case === "image" ? [imageMedia(content.value)] : [])),
      );
      const cost = shown.reduce(
        (sum, media) => sum + (media.kind === "image" ? mediaTokens(entry, media) : 0),
        0,
      );
      expect(cost, model).toBeLessThanOrEqual(used!.history);
      expect(cost, model).toBeLessThanOrEqual(entry.contextTokens);
      // Where the window is large, none is left out.
      if (entry.contextTokens >= 1_000_000) expect(shown).toHaveLength(50);
    }
  });

  test("at one figure when they are written, also in a tool's result, and text files as text", async () => {
    const { record } = await openDesk();
    const tokensOf = async (part: Part) => {
      const { turn } = await record([part]);
      return turn!.o200kTokens;
    };
    const plain = await tokensOf(text(""));
    const shown = imageMedia(picture(png(1_024, 1_024)).content.value);
    const figure = shown.kind === "image" ? conservativeTokens(shown) : 0;
    expect((await tokensOf(picture(png(1_024, 1_024)))) - plain).toBe(figure);
    expect((await tokensOf(file(pdf(3), "application/pdf"))) - plain).toBe(3 * 4_568);
    const long = "hello ".repeat(50_000);
    expect((await tokensOf(file(Buffer.from(long), "text/plain"))) - plain).toBeGreaterThanOrEqual(50_000);
  });

  test("by the model's own rules in the current message, with a warning for what is only an estimate", async () => {
    const { build } = await openDesk();
    const model = "gpt-4o";
    const none = (await build([text("Look.")], { model })).tokenBudget!;
    const one = await build([text("Look."), picture(png(1_024, 1_024))], { model });
    expect(one.tokenBudget!.used!.event - none.used!.event).toBe(765);
    expect({ with: one.tokenBudget!.exact, without: none.exact }).toEqual({ with: false, without: true });
    expect(one.warnings).toEqual([]);
    const far = await build([text("Look."), linked], { model });
    expect(far.warnings).toMatchObject([{ kind: WarningKind.MEDIA_ESTIMATED }]);
    const large = Array.from({ length: 20 }, () => picture(png(2_000, 2_000)));
    await expect(build(large, { model: "gpt-4" })).rejects.toThrow("tokens");
  });
});
