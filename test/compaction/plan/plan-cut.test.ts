import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CutGoal, type PlannedCut, planCut } from "../../../src/compaction/plan/plan-cut.js";
import { FloorKind } from "../../../src/domain/compaction.js";
import { deadAfterTurns } from "../../../src/thread/beginnings.js";
import type { TracedTurn } from "../../../src/thread/traced-turn.js";
import { Random } from "../../model/random.js";
import type { Plain } from "../../support/plain.js";
import { randomTurns, turnOf } from "./traced-turn-words.js";

const all = Number.POSITIVE_INFINITY;

function goal(targetTokens: number, more: Partial<Plain<CutGoal>> = {}): CutGoal {
  const roomTokens = more.roomTokens ?? targetTokens;
  return {
    targetTokens,
    roomTokens,
    targetMessages: all,
    roomMessages: all,
    uncutTokens: roomTokens,
    uncutMessages: all,
    keepTurns: 1,
    keepAtMost: all,
    ...more,
  } as CutGoal;
}

function turns(...words: readonly string[]): TracedTurn[] {
  return words.map((word) => turnOf(word));
}

const plain = turns("U5 A5", "U5 A5", "U5 A5", "U5 A5", "U5 A5");

describe("planCut: where", () => {
  test("keeps as many of the last turns as the target takes", () => {
    expect(planCut(plain, goal(35))).toEqual({ turn: 2, messageIndex: 0, keptTokens: 30, floors: [] });
  });

  test("counts what is sent beside the messages of a turn", () => {
    const withResult = [...plain.slice(0, 4), turnOf("U5 A5", { extraTokens: 6, extraMessages: 1 })];
    expect(planCut(withResult, goal(35))).toMatchObject({ turn: 3, keptTokens: 26 });
    expect(planCut(withResult, goal(100, { targetMessages: 4 }))).toMatchObject({ turn: 4 });
  });

  test("does not count an operator's instruction as a message", () => {
    const withSystem = turns("U5 A5", "S0 U5 A5", "U5 A5");
    expect(planCut(withSystem, goal(100, { targetMessages: 4 }))).toMatchObject({ turn: 1 });
  });

  test("keeps no more messages than there may be", () => {
    expect(planCut(plain, goal(100, { targetMessages: 5 }))).toMatchObject({ turn: 3, floors: [] });
  });

  test("cuts only where nothing is open: parallel calls hold until the last of them is answered", () => {
    const parallel = turns("U5 A5", "U5 A5+x+y", "T5-x", "T5-y A5", "U5 A5");
    expect(planCut(parallel, goal(34))).toMatchObject({ turn: 4 });
    expect(planCut(parallel, goal(35))).toMatchObject({ turn: 1 });
  });

  test("an approval holds the cut as a call does", () => {
    const asked = turns("U5 A5", "U5 A5+approval", "U5-approval A5", "U5 A5");
    expect(planCut(asked, goal(25))).toMatchObject({ turn: 3 });
    expect(planCut(asked, goal(30))).toMatchObject({ turn: 1 });
  });

  test("what is open at the end holds the cut", () => {
    const waiting = turns("U5 A5", "U5 A5", "U5 A5+x");
    expect(planCut(waiting, goal(15))).toMatchObject({ turn: 2 });
    const answered = [...waiting, turnOf("T5-x")];
    expect(planCut(answered, goal(15))).toMatchObject({ turn: 2, floors: [] });
  });

  test("a call that was given up does not hold the cut", () => {
    const given = [turnOf("U5 A5"), turnOf("U5 A5+x", { dead: ["x"] }), turnOf("U5 A5"), turnOf("U5 A5")];
    expect(planCut(given, goal(25))).toMatchObject({ turn: 2 });
  });

  test("a call without an answer that is old enough does not hold the cut", () => {
    const unanswered = (count: number) => [
      turnOf("U5 A5+x"),
      ...Array.from({ length: count }, () => turnOf("U5 A5")),
    ];
    expect(planCut(unanswered(deadAfterTurns), goal(25))).toMatchObject({ turn: deadAfterTurns - 1 });
    expect(planCut(unanswered(deadAfterTurns - 1), goal(25))).toMatchObject({ turn: 0, messageIndex: 1 });
  });

  test("never begins with answers, nor with a turn in which the assistant speaks first", () => {
    const continued = turns("U5 A5+x", "T5-x A5", "A5", "U5 A5", "U5 A5");
    expect(planCut(continued, goal(39))).toMatchObject({ turn: 3 });
  });

  test("may keep all turns that are given when there are older ones", () => {
    expect(planCut(plain, goal(50), true)).toMatchObject({ turn: 0, floors: [] });
    expect(planCut(turns("T5-x A5", "U5 A5"), goal(50), true)).toMatchObject({ turn: 1 });
  });
});

describe("planCut: what gives way", () => {
  const large = turns("U5 A5", "U5 A5", "U20 A20", "U20 A20", "U20 A20");

  test("the target does, before one of the last turns", () => {
    const cut = planCut(large, goal(50, { roomTokens: 125, keepTurns: 3 }));
    expect(cut).toEqual({
      turn: 2,
      messageIndex: 0,
      keptTokens: 120,
      floors: [{ kind: FloorKind.OVER_TARGET }],
    });
  });

  test.each([
    [100, 3, 2],
    [60, 4, 1],
  ])("then turns do, as few as it takes: with room for %i", (roomTokens, turn, value) => {
    const cut = planCut(large, goal(roomTokens, { keepTurns: 3 }));
    expect(cut).toMatchObject({ turn, messageIndex: 0, floors: [{ kind: FloorKind.KEEP_TURNS, value }] });
  });

  test("then the last turn is split before an assistant's message", () => {
    const loop = turns("U5 A5", "U50 A5+x T50-x A5+y T5-y A5");
    expect(planCut(loop, goal(30, { keepTurns: 2 }))).toEqual({
      turn: 1,
      messageIndex: 3,
      keptTokens: 15,
      floors: [
        { kind: FloorKind.KEEP_TURNS, value: 1 },
        { kind: FloorKind.SPLIT_TURN, value: 3 },
      ],
    });
  });

  test("never between a call and its result, nor between what the assistant says at once", () => {
    const loop = turns("U9 A1 A9+x+y T9-x T9-y A1 A1");
    expect(planCut(loop, goal(20))).toMatchObject({ messageIndex: 5, keptTokens: 2 });
    expect(planCut(loop, goal(29))).toMatchObject({ messageIndex: 5 });
    expect(planCut(loop, goal(30, { uncutTokens: 0 }))).toMatchObject({ messageIndex: 1, keptTokens: 30 });
  });

  test("a split is named by its place in the whole turn", () => {
    const goesOn = [turnOf("A5+x T50-x A5 U5 A5", { from: 4 })];
    expect(planCut(goesOn, goal(20))).toMatchObject({
      messageIndex: 2,
      floors: [{ kind: FloorKind.SPLIT_TURN, value: 6 }],
    });
  });

  test("a turn and the one that answers it are split as one", () => {
    const pair = turns("U5 A5", "U50 A5+x", "T50-x A5");
    expect(planCut(pair, goal(60, { uncutTokens: 0 }))).toMatchObject({ turn: 1, messageIndex: 1 });
    expect(planCut(pair, goal(20))).toMatchObject({ turn: 2, messageIndex: 1 });
  });

  test("where even the last split is too large, that is what is kept", () => {
    expect(planCut(turns("U5 A5", "U50 A5+x T50-x A50"), goal(10))).toMatchObject({
      turn: 1,
      messageIndex: 3,
    });
    expect(planCut(turns("U5 A5", "U50 T50"), goal(10))).toMatchObject({ turn: 1, messageIndex: 0 });
  });

  test("calls that are open hold more turns together than should be kept, and they are not split for it", () => {
    const pair = turns("U5 A5", "U5 A5+x", "T5-x A5");
    expect(planCut(pair, goal(all, { keepAtMost: 1 }))).toMatchObject({
      turn: 1,
      messageIndex: 0,
      floors: [],
    });
  });
});

describe("planCut: the end of a turn that is larger than the target", () => {
  const huge = turns("U5 A5", "U5 A5+x T200-x A20+y T5-y A15", "U5 A5", "U5 A5");

  test("is kept before the turns that stay, as much of it as there is room for", () => {
    const split = (value: number) => ({ kind: FloorKind.SPLIT_TURN, value });
    const kept = { turn: 1, messageIndex: 3, keptTokens: 60, floors: [split(3)] };
    expect(planCut(huge, goal(80, { keepTurns: 2 }))).toEqual(kept);
    expect(planCut(huge, goal(40, { keepTurns: 4 }))).toMatchObject({
      turn: 1,
      messageIndex: 5,
      floors: [{ kind: FloorKind.KEEP_TURNS, value: 3 }, split(5)],
    });
  });

  test("is not where nothing of it fits, or no more turns may stay", () => {
    expect(planCut(huge, goal(30, { keepTurns: 2 }))).toMatchObject({ turn: 2, messageIndex: 0, floors: [] });
    expect(planCut(huge, goal(80, { keepAtMost: 2 }))).toMatchObject({ turn: 2, messageIndex: 0 });
  });

  test("is found across a turn and the one that answers it", () => {
    const pair = turns("U5 A5", "U5 A5 A200+x", "T50-x A5", "U5 A5");
    expect(planCut(pair, goal(30))).toMatchObject({ turn: 2, messageIndex: 1, keptTokens: 15 });
  });
});

describe("planCut: nothing", () => {
  test.each<[string, TracedTurn[], Partial<Plain<CutGoal>>]>([
    ["in a thread without turns", [], {}],
    ["of one turn that cannot be split", turns("U500"), {}],
    [
      "of the last turns, while they fit without a summary",
      plain.slice(0, 3),
      { keepTurns: 3, uncutTokens: 30 },
    ],
    ["before the turns that should be kept", plain, { keepTurns: 5, roomTokens: all }],
    ["while a call of the first turn is open", turns("U5 A5+x", "T5-y"), { roomTokens: all }],
  ])("can be folded %s", (_, given, more) => {
    expect(planCut(given, goal(10, more))).toBeUndefined();
  });
});

/** Every place at which a thread may be cut, found without a scan. */
function legalPlaces(given: readonly TracedTurn[]): { turn: number; messageIndex: number }[] {
  const flat = given.flatMap((turn, at) => turn.messages.map((message, index) => ({ at, index, message })));
  const openBefore = (place: number) => {
    const open = new Set<string>();
    for (const { message } of flat.slice(0, place)) {
      for (const id of message.closes) open.delete(id);
      for (const id of message.opens) open.add(id);
    }
    const later = flat.slice(place).flatMap(({ message }) => message.closes);
    const dead = given.flatMap((turn) => turn.dead);
    const atEnd = flat.slice(place).length === 0;
    return [...open].filter((id) => later.includes(id) || (!dead.includes(id) && !atEnd));
  };
  return flat.flatMap(({ at, index, message }, place) => {
    const spoken = given[at]!.messages.findIndex(({ role }) => role !== "S");
    const isStart = index === spoken && message.role === "U" && message.closes.length === 0;
    const isSplit = index > 0 && message.role === "A" && given[at]!.messages[index - 1]!.role !== "A";
    if (!(isStart || isSplit) || openBefore(place).length > 0) return [];
    return [{ turn: at, messageIndex: isStart ? 0 : index }];
  });
}

function costFrom(
  given: readonly TracedTurn[],
  { turn, messageIndex }: Pick<PlannedCut, "turn" | "messageIndex">,
) {
  const own = (entry: TracedTurn, from: number) =>
    entry.messages.slice(from).reduce<number>((sum, { tokens }) => sum + tokens, entry.extraTokens);
  return given.slice(turn).reduce((sum, entry, at) => sum + own(entry, at === 0 ? messageIndex : 0), 0);
}

describe("planCut: of any thread", () => {
  const asked = fc.record({
    seed: fc.noBias(fc.integer({ min: 0, max: 1_000_000_000 })),
    target: fc.integer({ min: 0, max: 400 }),
    more: fc.integer({ min: 0, max: 300 }),
    keepTurns: fc.integer({ min: 1, max: 5 }),
    keepAtMost: fc.oneof(fc.constant(all), fc.integer({ min: 1, max: 8 })),
    hasOlder: fc.boolean(),
  });
  const runs = { numRuns: 3_000, seed: 20_261_116 };

  test("cuts where nothing is open, on target where that is possible, and says what gave way", () => {
    let cuts = 0;
    fc.assert(
      fc.property(asked, ({ seed, target, more, keepTurns, keepAtMost, hasOlder }) => {
        const given = randomTurns(new Random(seed));
        const wanted = goal(target, { roomTokens: target + more, keepTurns, keepAtMost });
        const cut = planCut(given, wanted, hasOlder);
        const legal = legalPlaces(given).filter(
          ({ turn, messageIndex }) => hasOlder || turn + messageIndex > 0,
        );
        if (!cut) {
          const fits = costFrom(given, { turn: 0, messageIndex: 0 }) <= wanted.uncutTokens;
          expect(legal.length === 0 || (fits && !hasOlder)).toBe(true);
          return;
        }
        cuts++;
        const { turn, messageIndex, keptTokens, floors } = cut;
        expect(legal).toContainEqual({ turn, messageIndex });
        expect(keptTokens).toBe(costFrom(given, cut));
        const kept = given.length - turn;
        const least = Math.min(keepTurns, keepAtMost);
        const floorsOf = (kind: FloorKind) => floors.filter((floor) => floor.kind === kind);
        expect(floorsOf(FloorKind.KEEP_TURNS)).toEqual(
          kept < least ? [{ kind: FloorKind.KEEP_TURNS, value: kept }] : [],
        );
        expect(floorsOf(FloorKind.SPLIT_TURN)).toEqual(
          messageIndex > 0 ? [{ kind: FloorKind.SPLIT_TURN, value: messageIndex }] : [],
        );
        const whole = legal.filter((place) => place.messageIndex === 0);
        const enough = whole.filter((place) => {
          const count = given.length - place.turn;
          return count >= least && count <= keepAtMost;
        });
        const onTarget = enough.filter((place) => costFrom(given, place) <= target);
        const best = onTarget[0];
        if (best && messageIndex === 0) expect(cut).toMatchObject({ ...best, floors: [] });
        if (best && messageIndex > 0) {
          const before = whole.filter((place) => place.turn < best.turn).at(-1) ?? {
            turn: 0,
            messageIndex: 0,
          };
          expect(costFrom(given, before) - costFrom(given, best)).toBeGreaterThan(target);
          expect(turn).toBeLessThan(best.turn);
          expect(keptTokens).toBeLessThanOrEqual(target);
        }
        const fitting = legal.filter((place) => costFrom(given, place) <= wanted.roomTokens);
        if (fitting.some((place) => place.turn >= (whole.at(-1)?.turn ?? 0)))
          expect(keptTokens).toBeLessThanOrEqual(wanted.roomTokens);
      }),
      runs,
    );
    expect(cuts).toBeGreaterThan(1_500);
  });
});
