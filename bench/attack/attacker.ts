import { setMaxListeners } from "node:events";
import { setPriority } from "node:os";
import { attackBoundMs } from "./bounds.js";
import { attacks } from "./kinds.js";
import { Target } from "./target.js";

/** One attack in a process of its own, which steps back where others want the CPU. */
const attack = attacks[process.argv[2]!]!;
const boundMs = attack.boundMs ?? attackBoundMs;
let target: Target;
let run: (signal: AbortSignal) => Promise<unknown>;

process.on("message", async (message: { address: string } | "go") => {
  if (message === "go") {
    setPriority(5);
    const signal = AbortSignal.timeout(boundMs);
    setMaxListeners(0, signal);
    const bound = new Promise((resolve) => signal.addEventListener("abort", resolve));
    const report = () => process.send?.({ tally: target.tally });
    const reporting = setInterval(report, 500);
    await Promise.race([run(signal), bound]);
    clearInterval(reporting);
    report();
    process.send?.({ done: true });
  } else {
    target = new Target(message.address, boundMs);
    try {
      run = await attack.prepare(target);
    } catch (error) {
      console.error(`the attack could not be prepared: ${error}`);
      process.exit(1);
    }
    for (const end of Object.keys(target.tally)) delete target.tally[end];
    process.send?.({ ready: true });
  }
});
process.on("disconnect", () => process.exit(0));
process.send?.({ flags: (await attack.flags?.()) ?? {} });
