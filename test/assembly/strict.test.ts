import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { truncateText } from "../../src/assembly/plan/strict.js";
import { CandidateRule } from "../../src/contract/gen/quire/v1/assembly.js";
import { BudgetPolicy } from "../../src/contract/gen/quire/v1/context_settings.js";
import { countTokens } from "../../src/tokens/count-tokens.js";
import { TokenCounter } from "../../src/tokens/token-counter.js";
import { checkBudget, checkPairs } from "./check-context.js";
import { openTestQuire, type TestQuire } from "./engine.js";
import { fold } from "./fold.js";
import { deskRequest, putCapsule, setUpTravelDesk } from "./travel-desk.js";

let quire: TestQuire;

beforeAll(async () => {
  quire = await openTestQuire();
  await setUpTravelDesk(quire);
  await putCapsule(quire, "atlas", {}, 9);
});

afterAll(() => quire.close());

describe("STRICT_TRUNCATE", () => {
  test("cuts every lane to its share, and says what it cut", async () => {
    const asked = fc.record({
      maxContextTokens: fc.integer({ min: 60, max: 2_000 }),
      model: fc.constantFrom("gpt-4o", "claude-haiku-4-5"),
      words: fc.integer({ min: 0, max: 400 }),
      hook: fc.integer({ min: 0, max: 400 }),
    });
    await fc.assert(
      fc.asyncProperty(asked, async ({ maxContextTokens, model, words, hook }) => {
        const text = `Book ${"both, please. 🛫\n".repeat(words)}`;
        const event = {
          ...deskRequest.event,
          content: [{ content: { $case: "text" as const, value: { text } } }],
          hooks: [{ name: "h", content: `hook ${"word ".repeat(hook)}` }],
        };
        const settings = { policy: BudgetPolicy.STRICT_TRUNCATE };
        const context = { ...deskRequest, capsule: "atlas", event, model, maxContextTokens, settings };
        const folded = await fold(quire.assembly.assemble({ context }));
        checkBudget(folded);
        checkPairs(folded.history);
        for (const { lane, planned, used } of folded.completed.budget!.lanes)
          expect(used, lane).toBeLessThanOrEqual(planned);
        for (const { offset, length } of folded.system.sections) {
          expect(Buffer.from(folded.system.text).subarray(offset, offset + length).length).toBe(length);
        }
        const { receipt } = await quire.assembly.getReceipt({ assemblyId: folded.completed.assemblyId });
        const cut = receipt!.candidates
          .filter(({ detail }) => detail === "truncated")
          .map(({ name }) => name);
        const mark = "[...truncated]";
        expect(cut.some((name) => name.startsWith("section "))).toBe(
          folded.system.text === "" || folded.system.text.endsWith(mark),
        );
        const said = JSON.stringify([folded.current!.contextParts, folded.current!.parts]);
        if (said.includes(mark)) expect(cut).toContain("current message");
        else if (cut.includes("current message"))
          expect([[], event.content]).toContainEqual(folded.current!.parts);
        else expect(folded.current!.parts).toEqual(event.content);
      }),
      { seed: 3, numRuns: 60 },
    );
  });

  test("drops the tools that are listed last first", async () => {
    const settings = { policy: BudgetPolicy.STRICT_TRUNCATE };
    const { context } = await quire.assembly.buildContext({
      context: { ...deskRequest, capsule: "atlas", maxContextTokens: 150, settings },
    });
    const { receipt } = await quire.assembly.getReceipt({ assemblyId: context!.assemblyId });
    expect(context!.tools.map(({ name }) => name)).toEqual(["search", "rooms"]);
    const cut = receipt!.candidates.filter(({ rule }) => rule === CandidateRule.LANE);
    expect(cut.filter(({ name }) => name.startsWith("tool ")).map(({ name }) => name)).toEqual([
      "tool spawn",
      "tool send",
    ]);
  });
});

describe("a text that is cut", () => {
  const counter = new TokenCounter();

  test("is within its tokens, a beginning of the text, and never ends inside a character", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "binary", maxLength: 300 }),
        fc.integer({ min: 0, max: 60 }),
        async (text, tokens) => {
          const cut = await truncateText(counter, text, tokens, "o200k_base", "\n[...truncated]");
          if (cut === "") return;
          expect(countTokens(cut, "o200k_base")).toBeLessThanOrEqual(tokens);
          const kept = cut.slice(0, -"\n[...truncated]".length);
          expect(text.startsWith(kept)).toBe(true);
          expect(kept).not.toMatch(/[\uD800-\uDBFF]$/);
        },
      ),
      { seed: 5, numRuns: 300 },
    );
  });
});
