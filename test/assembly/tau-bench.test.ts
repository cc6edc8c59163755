import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { planImport } from "../../src/cli/import/formats.js";
import type { PlannedSession } from "../../src/cli/import/transcript.js";
import { packageRoot } from "../../src/config/package-root.js";
import { MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { contextRequest, exactModel, putAgent } from "./agent.js";
import type { WrittenTurn } from "./check-context.js";
import { openTestQuire, type TestQuire } from "./engine.js";
import { type FoldedContext, fold } from "./fold.js";
import {
  assembleByRules,
  checkDelta,
  checkReplay,
  contextBytes,
  FloorCounts,
  tokensBesideHistory,
} from "./keep-rules.js";

const data = process.env.QUIRE_EVAL_DATA ?? join(packageRoot, "..", "shared", "data");
const file = join(data, "tau-bench", "airline-dev.json");
const isThere = existsSync(file);
const budgets = [1_000, 2_000, 4_000, 8_000, 32_000];

describe.skipIf(!isThere)(
  `the trajectories of tau-bench${isThere ? "" : ` (skipped: there is no ${file})`}`,
  () => {
    let quire: TestQuire;
    let sessions: readonly PlannedSession[];
    const threads = new Map<string, readonly WrittenTurn[]>();
    const held = new Map<string, FoldedContext>();

    beforeAll(async () => {
      quire = await openTestQuire();
      await putAgent(quire);
      ({ sessions } = planImport(
        { format: "openai", text: readFileSync(file, "utf8"), stem: "airline" },
        {},
      ));
      for (const session of sessions) await write(session);
    });

    afterAll(() => quire?.close());

    /** Writes a trajectory, and keeps the context that it had one turn before its end. */
    async function write({ label, turns }: PlannedSession): Promise<void> {
      await quire.ledger.createSession({ label });
      const written: WrittenTurn[] = [];
      for (const [at, turn] of turns.entries()) {
        const { messages, status, abandonOpenItems } = turn;
        if (at === turns.length - 1) {
          const context = contextRequest(label, exactModel, { maxContextTokens: 8_000 });
          held.set(label, await fold(quire.assembly.assemble({ context })));
        }
        const parentTurnId = written.at(-1)?.id ?? "";
        const { turn: stored } = await quire.ledger.recordTurn({
          session: label,
          parentTurnId,
          messages: [...messages],
          status,
          abandonOpenItems,
        });
        const spoken = messages.flatMap(({ role }, index) => (role === MessageRole.SYSTEM ? [] : [index]));
        written.push({ id: stored!.id, spoken });
      }
      threads.set(label, written);
    }

    test("are all there", () => {
      expect(sessions.length).toBe(100);
    });

    test.each(budgets)("keep every rule at a history budget of %i tokens", async (budget) => {
      const floors = new FloorCounts();
      const request = contextRequest(sessions[0]!.label, exactModel);
      const maxContextTokens = (await tokensBesideHistory(quire, request)) + budget;
      for (const { label } of sessions) {
        const context = { ...request, session: label, maxContextTokens };
        const folded = await assembleByRules(quire, context, threads.get(label)!);
        expect(folded, "only what is open may not fit, and nothing is open here").toBeDefined();
        floors.add(folded!.completed.floors);
        await checkReplay(quire, folded!);
        await checkDelta(quire, context, folded!);
      }
      console.log(`tau-bench at ${budget} tokens: ${floors}`);
    });

    test("are whole when put onto the context of the turn before, of which most is reused", async () => {
      let reused = 0;
      for (const { label } of sessions) {
        const context = contextRequest(label, exactModel, { maxContextTokens: 8_000 });
        const folded = await checkDelta(quire, context, held.get(label)!);
        if (folded.sentMessages < folded.history.length) reused++;
      }
      expect(reused).toBeGreaterThan(80);
    });

    test("give the same bytes each time", async () => {
      for (const { label } of sessions.slice(0, 20)) {
        const context = contextRequest(label, exactModel, { maxContextTokens: 4_000 });
        expect(await contextBytes(quire, context)).toBe(await contextBytes(quire, context));
      }
    });
  },
);
