import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { BreakpointPlace, type CachePlan } from "../../src/contract/gen/quire/v1/prompt_cache.js";
import { QuireError } from "../../src/index.js";
import { validateBodyBytes } from "../../src/rendering/render.js";
import { planImport } from "../../src/transcripts/import/formats.js";
import { contextRequest, type PartialContext, putAgent } from "./agent.js";
import { openTestQuire, type TestQuire } from "./engine.js";
import { writeRandomThread } from "./random-thread.js";
import { bodyOf, eventsOf, forModel, formats } from "./rendered-context.js";
import { RichWriter } from "./rich-messages.js";

/** How many bodies were looked at, for the end of the run. */
class BodyCounts {
  bodies = 0;
  marks = 0;
  tooLarge = 0;
  summaries = 0;

  toString(): string {
    return `${this.bodies} bodies, ${this.marks} breakpoints, ${this.summaries} with a summary; what is open did not fit ${this.tooLarge} times`;
  }
}

let quire: TestQuire;
beforeAll(async () => {
  quire = await openTestQuire();
  await putAgent(quire);
});
afterAll(() => quire?.close());

/** Renders a context in every format, and looks at each body with its validator. */
async function checkBodies(counts: BodyCounts, context: PartialContext): Promise<void> {
  for (const { name, format, model } of formats) {
    let events: Awaited<ReturnType<typeof eventsOf>>;
    try {
      events = await eventsOf(quire, { ...forModel(context, model), render: format });
    } catch (error) {
      expect((error as QuireError).reason).toBe("CONTEXT_TOO_LARGE");
      expect(error).toBeInstanceOf(QuireError);
      counts.tooLarge++;
      return;
    }
    let messages = 0;
    for (const event of events) {
      if (event.$case === "history") messages += event.value.messages.length;
      if (event.$case === "history" && event.value.layer?.compactionId) counts.summaries++;
      if (event.$case === "currentMessage" && event.value.message) messages++;
      if (event.$case === "completed") counts.marks += checkPlan(event.value.cachePlan!, messages);
    }
    expect(validateBodyBytes({ format: name, bytes: bodyOf(events).body })).toEqual([]);
    counts.bodies++;
  }
}

/** The plan is about the messages that there are, and about all of the context. */
function checkPlan({ breakpoints, ...plan }: CachePlan, messages: number): number {
  expect(breakpoints.length).toBeLessThanOrEqual(4);
  for (const { after, messageIndex } of breakpoints)
    if (after === BreakpointPlace.MESSAGE) expect(messageIndex).toBeLessThan(messages);
  const { readTokens, writeTokens, freshTokens } = plan;
  expect(Math.abs(readTokens + writeTokens + freshTokens - plan.costWithoutCache)).toBeLessThan(1);
  return breakpoints.length;
}

const data = process.env.QUIRE_EVAL_DATA ?? join(packageRoot, "..", "shared", "data");
const file = join(data, "tau-bench", "airline-dev.json");
const isThere = existsSync(file);

test.skipIf(!isThere)(
  `the trajectories of tau-bench are rendered as valid bodies while they grow${isThere ? "" : ` (skipped: there is no ${file})`}`,
  async () => {
    const counts = new BodyCounts();
    const { sessions } = planImport(
      { format: "openai", text: readFileSync(file, "utf8"), stem: "airline" },
      {},
    );
    for (const [number, { label, turns }] of sessions.entries()) {
      await quire.ledger.createSession({ label });
      let parentTurnId = "";
      for (const [at, { messages, status, abandonOpenItems }] of turns.entries()) {
        const request = { session: label, parentTurnId, messages: [...messages], status, abandonOpenItems };
        parentTurnId = (await quire.ledger.recordTurn(request)).turn!.id;
        const isLast = at === turns.length - 1;
        if (!isLast && (at + number) % 4 !== 0) continue;
        const { model } = formats[(at + number) % formats.length]!;
        await checkBodies(counts, contextRequest(label, model, { dryRun: true }));
      }
    }
    expect(sessions.length).toBe(100);
    console.log(`tau-bench: ${counts}`);
  },
);

describe("every context of a random session", () => {
  test("is rendered as a valid body in every format, whatever its messages hold and whatever became of its turns", async () => {
    const counts = new BodyCounts();
    for (let seed = 1; seed <= 24; seed++) {
      const { model } = formats[seed % formats.length]!;
      const historyTokens = [600, 2_000, 50_000][seed % 3]!;
      const modelLimits = [{ model, maxTokens: 50_000_000, memoryTokens: 0, historyTokens }];
      const context = (session: string) => contextRequest(session, model, { settings: { modelLimits } });
      let turn = 0;
      const afterTurn = async (session: string) => {
        if (++turn % 3 === 0) await checkBodies(counts, context(session));
      };
      const thread = await writeRandomThread(quire, seed, afterTurn, (random) => new RichWriter(random));
      await checkBodies(counts, context(thread.session));
      if (!thread.active) continue;
      const activeTurnId = thread.active.id;
      await checkBodies(counts, { ...context(thread.session), activeTurnId });
      if (thread.active.spoken.length > 0)
        await checkBodies(counts, { ...context(thread.session), activeTurnId, event: undefined });
    }
    console.log(`random sessions: ${counts}`);
    expect(counts.summaries).toBeGreaterThan(20);
    expect(counts.marks).toBeGreaterThan(20);
  });
});
