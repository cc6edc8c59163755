import { cpuMs, median } from "../measure.js";
import { conversation } from "./conversation.js";
import { engines } from "./engines.js";
import { faultsOf } from "./faults.js";
import { quireEngine } from "./quire.js";

/** What one engine does with one conversation and one budget, said to the parent as soon as it is known. */
export interface Measured {
  readonly cpuMs: number;
  readonly keptTokens: number;
  readonly keptMessages: number;
  readonly faults: readonly string[];
}

const [name = "", turns = "100", budget = "32000"] = process.argv.slice(2);
const all = conversation(Number(turns));
const engine = name === "Quire" ? quireEngine : engines[name]!;
const assemble = await engine.prepare(all, Number(budget));
process.send!("go");
const samples: number[] = [];
let from = 0;
for (let round = 0; round < 40 && (round < 2 || performance.now() - from < 6_000); round++) {
  // The first one may have to summarize all that there is: it is not to take the others' time.
  if (round === 1) from = performance.now();
  let kept: Awaited<ReturnType<typeof assemble>> = [];
  samples.push(
    await cpuMs(async () => {
      kept = await assemble();
    }),
  );
  const measured: Measured = {
    // The first ones also compile, and open what stays open.
    cpuMs: median(samples.slice(samples.length >> 1)),
    keptTokens: kept.reduce((sum, { tokens }) => sum + tokens, 0),
    keptMessages: kept.length,
    faults: faultsOf(all, kept, Number(budget)),
  };
  process.send!(measured);
}
process.exit(0);
