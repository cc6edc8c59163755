import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { planImport } from "../../src/transcripts/import/formats.js";
import type { PlannedSession } from "../../src/transcripts/import/transcript.js";
import { contextRequest, exactModel, type PartialContext, putAgent } from "./agent.js";
import type { WrittenTurn } from "./check-context.js";
import { openTestQuire, type TestQuire } from "./engine.js";
import type { FoldedContext } from "./fold.js";
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
const budgets = [1_000, 2_000, 4_000];
/** Each budget has a third of them, and together they have all; `npm run test:long` has all of them at each. */
const isWhole = process.env.QUIRE_EVERY_TRAJECTORY !== undefined;

describe.skipIf(!isThere)(
  `the trajectories of tau-bench, grown turn by turn${isThere ? "" : ` (skipped: there is no ${file})`}`,
  () => {
    let quire: TestQuire;
    let sessions: readonly PlannedSession[];

    beforeAll(async () => {
      quire = await openTestQuire();
      await putAgent(quire);
      const text = readFileSync(file, "utf8");
      ({ sessions } = planImport({ format: "openai", text, stem: "airline" }, {}));
    });

    afterAll(() => quire?.close());

    /** Writes a trajectory into a session of its own, and says after each turn what the thread is by then. */
    async function* grow(label: string, { turns }: PlannedSession): AsyncGenerator<readonly WrittenTurn[]> {
      await quire.ledger.createSession({ label });
      const written: WrittenTurn[] = [];
      for (const { messages, status, abandonOpenItems } of turns) {
        const parentTurnId = written.at(-1)?.id ?? "";
        const recorded = { session: label, parentTurnId, messages: [...messages], status, abandonOpenItems };
        const { turn } = await quire.ledger.recordTurn(recorded);
        const spoken = messages.flatMap(({ role }, index) => (role === MessageRole.SYSTEM ? [] : [index]));
        written.push({ id: turn!.id, spoken });
        yield written;
      }
    }

    test("are all there", () => {
      expect(sessions.length).toBe(100);
    });

    test.each(budgets)("keep every rule at a history budget of %i tokens", async (budget) => {
      const part = budgets.indexOf(budget);
      const chosen = sessions.filter((_, index) => isWhole || index % budgets.length === part);
      const floors = new FloorCounts();
      let reused = 0;
      let given = 0;
      for (const session of chosen) {
        const label = `${session.label}-${budget}`;
        let context: PartialContext | undefined;
        let held: FoldedContext | undefined;
        for await (const thread of grow(label, session)) {
          const request = contextRequest(label, exactModel, { settings: { softThreshold: 1 } });
          context ??= { ...request, maxContextTokens: (await tokensBesideHistory(quire, request)) + budget };
          const folded = await assembleByRules(quire, context, thread);
          expect(folded, "only what is open may not fit, and nothing is open here").toBeDefined();
          floors.add(folded!);
          if (folded!.compaction.length > 0 || thread.length === session.turns.length)
            await checkReplay(quire, folded!);
          if (held) {
            const delta = await checkDelta(quire, context, held, folded!);
            given++;
            if (delta.sentMessages < delta.history.length) reused++;
          }
          held = folded;
        }
        expect(await contextBytes(quire, context!)).toBe(await contextBytes(quire, context!));
      }
      console.log(
        `tau-bench at ${budget} tokens: ${floors}; ${reused} of ${given} contexts began as the one before`,
      );
      if (budget >= 8_000) expect(reused).toBeGreaterThan(0.8 * given);
    });
  },
);
