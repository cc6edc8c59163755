import { describe, expect, test } from "vitest";
import { CompressionStrategy } from "../../../src/contract/gen/quire/v1/context_settings.js";
import { tight } from "../../assembly/compacted-session.js";
import { fold } from "../../assembly/fold.js";
import { openedEngine } from "../../assembly/opened-engine.js";
import { handTimers } from "../../support/hand-timers.js";
import { assistant, user } from "../../support/messages.js";

const lines = Array.from({ length: 100_000 }, (_, line) => `word${line % 7_000}`).join("\n");

/** A session with a turn of 100,000 one-word lines, and a few short ones after it. */
async function sessionOfLines() {
  // However slow the machine is, nobody gives up.
  const { quire } = await openedEngine({}, { timers: handTimers() });
  await quire.capsules.putCapsule({ name: "atlas", body: { persona: { corePrompt: "You help." } } });
  await quire.ledger.createSession({ label: "desk" });
  let parentTurnId = "";
  for (const said of [lines, "And then?", "And now?", "And after that?", "So?"]) {
    const messages = [user(said), assistant("Fine.")];
    const { turn } = await quire.ledger.recordTurn({ session: "desk", parentTurnId, messages });
    parentTurnId = turn!.id;
  }
  return quire;
}

/** How often the event loop came round while some work was done. */
async function turnsDuring(work: () => Promise<void>): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await work();
  clearInterval(timer);
  return turns;
}

describe("a turn of 100,000 one-word lines", () => {
  test.each([
    CompressionStrategy.SUMMARY,
    CompressionStrategy.IMPORTANCE,
    CompressionStrategy.TIME_DECAY,
  ])("is compacted by %s while the event loop runs", async (compressionStrategy) => {
    const quire = await sessionOfLines();
    const turns = await turnsDuring(async () => {
      const { compaction } = await quire.ledger.compact({
        session: "desk",
        keepTurns: 1,
        compressionStrategy,
      });
      expect(compaction).toMatchObject({ summarizedTurns: 4, compressionStrategy });
    });
    expect(turns).toBeGreaterThan(20);
  });

  test("is compacted by an assembly while the event loop runs", async () => {
    const quire = await sessionOfLines();
    const turns = await turnsDuring(async () => {
      const { compaction } = await fold(quire.assembly.assemble({ context: tight("desk", 10_000) }));
      expect(compaction.map(({ $case }) => $case)).toEqual(["started", "finished"]);
    });
    expect(turns).toBeGreaterThan(20);
  });
});
