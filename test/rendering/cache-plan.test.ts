import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CachePlanInput, type CacheRules, planCache } from "../../src/rendering/cache-plan.js";

const marked: CacheRules = {
  kind: "breakpoints",
  minTokens: 1_024,
  maxBreakpoints: 4,
  stepTokens: 1,
  ttlSeconds: 300,
  writePrice: 1.25,
  readPrice: 0.1,
};
const found: CacheRules = {
  ...marked,
  kind: "prefix",
  maxBreakpoints: 0,
  stepTokens: 128,
  writePrice: 1,
  readPrice: 0.5,
};
const unknown: CacheRules = { ...found, kind: "none", minTokens: 0, stepTokens: 1, readPrice: 1 };

/** The second context of a session: a turn of two messages was added to four. */
const second: CachePlanInput = {
  rules: marked,
  toolsTokens: 2_000,
  systemTokens: 1_000,
  messageTokens: [100, 200, 300, 400, 50, 60, 70],
  sentBefore: 5,
  sentNext: 7,
  shared: "history",
};
const first: CachePlanInput = { ...second, sentBefore: 0, shared: "nothing" };

const places = (input: CachePlanInput) =>
  planCache(input).breakpoints.map((mark) =>
    mark.after === "message" ? `message ${mark.messageIndex}` : mark.after,
  );
const split = (input: CachePlanInput) => {
  const { readTokens, writeTokens, freshTokens } = planCache(input);
  return [readTokens, writeTokens, freshTokens];
};

describe("breakpoints", () => {
  test("stand after the tools, after the system prompt, where the context before ended, and where this one ends", () => {
    expect(places(second)).toEqual(["tools", "system", "message 4", "message 6"]);
    expect(planCache(second).breakpoints.map(({ prefixTokens }) => prefixTokens)).toEqual([
      2_000, 3_000, 4_050, 4_180,
    ]);
    expect(planCache(second).breakpoints.every(({ ttlSeconds }) => ttlSeconds === 300)).toBe(true);
  });

  test("stand at no place of history that the provider has not seen before, but for its end", () => {
    expect(places(first)).toEqual(["tools", "system", "message 6"]);
    for (const shared of ["nothing", "tools", "system"] as const)
      expect(places({ ...second, shared })).toEqual(["tools", "system", "message 6"]);
  });

  test("never stand two at one place", () => {
    expect(places({ ...second, sentBefore: 7 })).toEqual(["tools", "system", "message 6"]);
    expect(places({ ...second, toolsTokens: 0, systemTokens: 2_000 })).toEqual([
      "system",
      "message 4",
      "message 6",
    ]);
    expect(places({ ...second, systemTokens: 0 })).toEqual(["tools", "message 4", "message 6"]);
    expect(places({ ...second, messageTokens: [], sentBefore: 0, sentNext: 0 })).toEqual(["tools", "system"]);
  });

  test("are not asked for where what comes before is too short to be kept", () => {
    expect(places({ ...second, toolsTokens: 1_023 })).toEqual(["system", "message 4", "message 6"]);
    expect(places({ ...second, toolsTokens: 1_024 })).toHaveLength(4);
    expect(places({ ...second, toolsTokens: 10, systemTokens: 10 })).toEqual(["message 4", "message 6"]);
    expect(
      places({ ...second, toolsTokens: 10, systemTokens: 10, messageTokens: [9, 9, 9, 9, 9, 9, 9] }),
    ).toEqual([]);
  });

  test("are the last ones where a provider takes fewer", () => {
    const rules = { ...marked, maxBreakpoints: 2 };
    expect(places({ ...second, rules })).toEqual(["message 4", "message 6"]);
    expect(places({ ...second, rules: { ...marked, maxBreakpoints: 0 } })).toEqual([]);
  });

  test("leave the current message out where the next context will not begin with it", () => {
    expect(places({ ...second, sentBefore: 4, sentNext: 6 })).toEqual([
      "tools",
      "system",
      "message 3",
      "message 5",
    ]);
    expect(split({ ...second, sentBefore: 4, sentNext: 6 })).toEqual([4_000, 110, 70]);
  });

  test("are set by nobody where a provider finds the prefix itself, or has no cache", () => {
    expect(places({ ...second, rules: found })).toEqual([]);
    expect(places({ ...second, rules: unknown })).toEqual([]);
  });
});

describe("what is predicted", () => {
  test("is that what was sent before is read, what is new written, and nothing fresh", () => {
    expect(split(second)).toEqual([4_050, 130, 0]);
    expect(split(first)).toEqual([0, 4_180, 0]);
    const { cost, costWithoutCache } = planCache(second);
    expect(cost).toBeCloseTo(4_050 * 0.1 + 130 * 1.25);
    expect(costWithoutCache).toBe(4_180);
  });

  test("is read as far as both contexts are the same, and no farther", () => {
    expect(split({ ...second, shared: "system" })).toEqual([3_000, 1_180, 0]);
    expect(split({ ...second, shared: "tools" })).toEqual([2_000, 2_180, 0]);
    expect(split({ ...second, shared: "nothing" })).toEqual([0, 4_180, 0]);
    expect(split({ ...second, shared: "tools", toolsTokens: 1_000, systemTokens: 2_000 })).toEqual([
      0, 4_180, 0,
    ]);
  });

  test("is in steps of 128 tokens, from 1,024 on, where the provider keeps prefixes so", () => {
    const at = (tokens: number) =>
      planCache({
        ...second,
        rules: found,
        toolsTokens: 0,
        systemTokens: 0,
        messageTokens: [tokens, 9],
        sentBefore: 1,
      }).readTokens;
    expect([1_023, 1_024, 1_151, 1_152, 4_050].map(at)).toEqual([0, 1_024, 1_024, 1_152, 3_968]);
    expect(split({ ...second, rules: found })).toEqual([3_968, 0, 212]);
  });

  test("is all fresh at the full price where no cache is known of", () => {
    expect(split({ ...second, rules: unknown })).toEqual([0, 0, 4_180]);
    expect(planCache({ ...second, rules: unknown }).cost).toBe(4_180);
  });

  test("is all fresh where the whole is too short to be kept", () => {
    const short = {
      ...second,
      toolsTokens: 10,
      systemTokens: 10,
      messageTokens: [9, 9, 9],
      sentBefore: 1,
      sentNext: 3,
    };
    expect(split(short)).toEqual([0, 0, 47]);
  });
});

const tokens = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1, max: 3_000 }),
  fc.double({ min: 1, max: 3_000, noNaN: true }),
);
const inputs: fc.Arbitrary<CachePlanInput> = fc
  .record({
    rules: fc.record({
      kind: fc.constantFrom("breakpoints", "prefix", "none"),
      minTokens: fc.constantFrom(0, 512, 1_024, 4_096),
      maxBreakpoints: fc.integer({ min: 0, max: 4 }),
      stepTokens: fc.constantFrom(1, 128),
      ttlSeconds: fc.constantFrom(300, 3_600),
      writePrice: fc.constantFrom(1, 1.25, 2),
      readPrice: fc.constantFrom(0.1, 0.25, 0.5),
    }),
    toolsTokens: tokens,
    systemTokens: tokens,
    messageTokens: fc.array(fc.integer({ min: 4, max: 900 }), { maxLength: 30 }),
    sentNextShare: fc.double({ min: 0, max: 1, noNaN: true }),
    sentBeforeShare: fc.double({ min: 0, max: 1, noNaN: true }),
    shared: fc.constantFrom("nothing", "tools", "system", "history"),
  })
  .map(({ sentNextShare, sentBeforeShare, ...input }) => {
    const sentNext = Math.round(sentNextShare * input.messageTokens.length);
    return { ...input, sentNext, sentBefore: Math.round(sentBeforeShare * sentNext) };
  });

test("every plan keeps the provider's rules, and what is read, written and fresh is the whole", () => {
  const keepsRules = fc.property(inputs, (input) => {
    const { rules, toolsTokens, systemTokens, messageTokens } = input;
    const plan = planCache(input);
    const total = messageTokens.reduce((sum, own) => sum + own, toolsTokens + systemTokens);
    const { readTokens, writeTokens, freshTokens } = plan;
    expect(readTokens + writeTokens + freshTokens).toBeCloseTo(total, 6);
    for (const part of [readTokens, writeTokens]) expect(part).toBeGreaterThanOrEqual(0);
    expect(freshTokens).toBeGreaterThan(-1e-6);
    if (input.shared === "nothing") expect(readTokens).toBe(0);
    if (readTokens > 0) expect(readTokens).toBeGreaterThanOrEqual(rules.minTokens - rules.stepTokens);
    expect(readTokens % rules.stepTokens).toBe(0);
    expect(plan.breakpoints.length).toBeLessThanOrEqual(
      rules.kind === "breakpoints" ? rules.maxBreakpoints : 0,
    );
    let before = -1;
    for (const { prefixTokens } of plan.breakpoints) {
      expect(prefixTokens).toBeGreaterThan(before);
      expect(prefixTokens).toBeGreaterThanOrEqual(rules.minTokens);
      before = prefixTokens;
    }
    const order = plan.breakpoints.map((mark) =>
      mark.after === "message" ? 2 + mark.messageIndex : ["tools", "system"].indexOf(mark.after),
    );
    expect(order).toEqual([...new Set(order)].sort((a, b) => a - b));
    for (const mark of plan.breakpoints)
      if (mark.after === "message") expect(mark.messageIndex).toBeLessThan(messageTokens.length);
  });
  fc.assert(keepsRules, { seed: 20_260_115, numRuns: 1_000 });
});

test("what one context writes up to is what the next one reads, however long the loop between them", () => {
  const isRead = fc.property(
    inputs,
    fc.array(fc.integer({ min: 4, max: 900 }), { minLength: 1, maxLength: 60 }),
    (given, added) => {
      const rules = { ...given.rules, kind: "breakpoints" as const, maxBreakpoints: 4, stepTokens: 1 };
      const messageTokens = [...given.messageTokens, 10];
      const before = planCache({ ...given, rules, messageTokens, sentNext: messageTokens.length });
      const written = before.breakpoints.at(-1)?.prefixTokens ?? 0;
      const after = planCache({
        ...given,
        rules,
        messageTokens: [...messageTokens, ...added],
        sentBefore: messageTokens.length,
        sentNext: messageTokens.length + added.length,
        shared: "history",
      });
      expect(after.readTokens).toBe(Math.floor(written));
      if (written > 0) expect(after.breakpoints.map(({ prefixTokens }) => prefixTokens)).toContain(written);
    },
  );
  fc.assert(isRead, { seed: 20_260_116, numRuns: 500 });
});
