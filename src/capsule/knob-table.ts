import { z } from "zod";
import { lanes } from "../domain/capsule.js";

/** Shares that were written by hand need not sum to 1 to the last bit. */
const sumTolerance = 1e-6;

const share = z.number().min(0).max(1);
const laneShares = z
  .strictObject({ system: share, history: share, memory: share, tools: share, buffer: share })
  .refine((shares) => Math.abs(lanes.reduce((sum, lane) => sum + shares[lane], 0) - 1) <= sumTolerance, {
    error: "lanes must sum to 1",
  });

const upTo = z.number().int().min(1).max(10);

/** Bands of a knob from 1 to 10, each from where the one before ends. */
function bands<Shape extends { readonly upTo: typeof upTo }>(shape: Shape) {
  return z
    .array(z.strictObject(shape))
    .min(1)
    .refine((all) => (all as readonly { upTo: number }[]).at(-1)?.upTo === 10, {
      error: "the last band must end at 10",
    })
    .refine((all) => isAscending((all as readonly { upTo: number }[]).map((band) => band.upTo)), {
      error: "bands must be in ascending order",
    });
}

function isAscending(ends: readonly number[]): boolean {
  return ends.every((end, index) => index === 0 || end > ends[index - 1]!);
}

const knobTable = z.strictObject({
  /** What a knob is that is not set. */
  unset: upTo,
  intelligence: bands({
    upTo,
    /** What a context may use where the level is set; null: the whole window. */
    contextTokens: z.number().int().min(1).nullable(),
    lanes: laneShares,
    recallLimit: z.number().int().min(0).max(1_000),
  }),
  autonomy: bands({ upTo, toolApproval: z.enum(["all", "dangerous", "none"]) }),
  /** How far one outcome with the best score moves the lanes, of the way to what its turn needed. */
  learningRate: z.number().gt(0).max(1),
});

/** What knobs come to. One table for the whole server, which an operator can replace. */
export type KnobTable = Readonly<z.infer<typeof knobTable>>;

const strong = { system: 0.1, history: 0.35, memory: 0.3, tools: 0.15, buffer: 0.1 };

export const defaultKnobTable: KnobTable = {
  unset: 5,
  intelligence: [
    {
      upTo: 3,
      contextTokens: 8_192,
      lanes: { system: 0.2, history: 0.2, memory: 0.2, tools: 0.2, buffer: 0.2 },
      recallLimit: 5,
    },
    {
      upTo: 6,
      contextTokens: 32_768,
      lanes: { system: 0.15, history: 0.3, memory: 0.25, tools: 0.2, buffer: 0.1 },
      recallLimit: 15,
    },
    { upTo: 8, contextTokens: 131_072, lanes: strong, recallLimit: 25 },
    { upTo: 10, contextTokens: null, lanes: strong, recallLimit: 50 },
  ],
  autonomy: [
    { upTo: 3, toolApproval: "all" },
    { upTo: 6, toolApproval: "dangerous" },
    { upTo: 10, toolApproval: "none" },
  ],
  learningRate: 0.05,
};

/** A table from the text of a JSON file. Throws where it cannot be used. */
export function parseKnobTable(json: string): KnobTable {
  return knobTable.parse(JSON.parse(json));
}
