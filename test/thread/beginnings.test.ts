import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { beginnings, deadAfterTurns, splitPlaces } from "../../src/thread/beginnings.js";
import type { RoleLetter } from "../../src/thread/message-index.js";
import { randomTurns, turnOf } from "../compaction/plan/traced-turn-words.js";
import { Random } from "../model/random.js";

const places = (letters: string) => splitPlaces([...letters].map((role) => ({ role: role as RoleLetter })));

describe("a turn may be split", () => {
  test("before an assistant's message that follows somebody else's, and nowhere else", () => {
    expect(places("UATATA")).toEqual([1, 3, 5]);
    expect(places("UAAT")).toEqual([1]);
    expect(places("TA")).toEqual([1]);
    expect(places("A")).toEqual([]);
  });

  test("without regard to what an operator says", () => {
    expect(places("SA")).toEqual([]);
    expect(places("SUA")).toEqual([2]);
  });
});

describe("history may begin", () => {
  test("with what came in, not with an answer to the turn before", () => {
    const turns = [turnOf("U5 A5+x"), turnOf("T5-x A5"), turnOf("S0 U5 A5")];
    expect(beginnings(turns)).toEqual([0, 2]);
  });

  test("after a call that nobody will answer, once it was given up or is old", () => {
    const open = turnOf("U5 A5+x");
    const later = Array.from({ length: deadAfterTurns - 1 }, () => turnOf("U5 A5"));
    expect(beginnings([open, ...later])).toEqual([0]);
    expect(beginnings([{ ...open, dead: ["x"] }, ...later])).toHaveLength(deadAfterTurns);
    expect(beginnings([open, ...later, turnOf("U5 A5")])).toHaveLength(deadAfterTurns + 1);
  });

  test("nowhere between a call and its answer, in any thread", () => {
    fc.assert(
      fc.property(fc.noBias(fc.integer({ min: 0, max: 1_000_000_000 })), (seed) => {
        const turns = randomTurns(new Random(seed));
        for (const begin of beginnings(turns)) {
          const opened = new Set<string>();
          for (const { messages, dead } of turns.slice(0, begin)) {
            for (const { opens, closes } of messages) {
              for (const id of opens) opened.add(id);
              for (const id of closes) opened.delete(id);
            }
            for (const id of dead) opened.delete(id);
          }
          const answered = turns.slice(begin).flatMap(({ messages }) => messages.flatMap((m) => m.closes));
          expect(answered.filter((id) => opened.has(id))).toEqual([]);
        }
      }),
      { seed: 20_261_117, numRuns: 2_000 },
    );
  });
});
