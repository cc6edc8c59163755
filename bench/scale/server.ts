import { loadConfig } from "../../src/config/load-config.js";
import { openEngine } from "../../src/engine.js";
import { serve } from "../../src/server/serve.js";
import { createLogger } from "../../src/telemetry/logger.js";
import { Maintenance } from "./maintenance.js";
import { Work } from "./work.js";

/** The server as it is, in a process of its own, on a database that is there. It does what it is told, one thing after the other. */

interface Settings {
  readonly flags: object;
  readonly sets: number;
  readonly erasedSets: number;
}

export type Task =
  | { readonly do: keyof Measured; readonly rounds: number }
  | { readonly do: "assembleAll"; readonly contexts: number }
  | { readonly do: "quiet" | "erasure" | "idle" | "end" }
  | { readonly do: "retention"; readonly beforeUs: string };

type Measured = { [Key in keyof Work as Work[Key] extends () => Promise<number> ? Key : never]: true };

const { flags, sets, erasedSets } = JSON.parse(process.argv[2]!) as Settings;
const config = loadConfig({ env: {}, flags });
const logger = createLogger("silent");
const engine = await openEngine(config, logger);
const server = await serve(config, engine, logger);
const work = new Work(engine, sets);
const maintenance = new Maintenance(engine, work, erasedSets);

async function perform(task: Task): Promise<unknown> {
  switch (task.do) {
    case "quiet":
    case "erasure":
      return maintenance[task.do]();
    case "retention":
      return maintenance.retention(BigInt(task.beforeUs));
    case "assembleAll":
      return assembleAll(task.contexts);
    case "idle":
      return engine.assembly.receipts.flush();
    case "end":
      await server.stop();
      await engine.close();
      return undefined;
    default: {
      const samples: number[] = [];
      for (let round = 0; round < task.rounds; round++) samples.push(await work[task.do]());
      return samples;
    }
  }
}

/** Contexts of all sessions, four callers at a time; a turn is added to every tenth of them. */
async function assembleAll(contexts: number): Promise<void> {
  const next = (function* () {
    for (let made = 0; made < contexts; ) {
      for (const session of work.sessionsOf(work.anySet())) if (made++ < contexts) yield session;
    }
  })();
  let calls = 0;
  const caller = async () => {
    for (const session of next) {
      await work.buildCompacted(session);
      if (++calls % 10 === 0) await work.append(session);
    }
  };
  await Promise.all([caller(), caller(), caller(), caller()]);
}

process.on("disconnect", () => process.exit(0));
process.on("message", async (task: Task) => {
  process.send?.({ answer: (await perform(task)) ?? null });
  if (task.do === "end") process.disconnect();
});
process.send?.({ answer: null });
