import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load-config.js";
import { openEngine } from "../../src/engine.js";
import { type Quire, quireOn } from "../../src/in-process/quire.js";
import { createLogger } from "../../src/telemetry/logger.js";
import type { Figure } from "../figure.js";
import type { Conversation } from "../locomo.js";
import { cpuMs, elapsedMs, median, progress, seeded } from "../measure.js";
import { startPostgres } from "../scale/postgres.js";
import { agent, copies, startVectorServer, untilSearchable, writeMemories } from "./many.js";
import { user } from "./said.js";

const longestMs = 5;
const asked = 40;
const rounds = 5;

/** A context with what it recalls, in process, where an agent has many memories: with the query's vector at hand, and by words alone. */
export async function assemblies(
  conversations: readonly Conversation[],
  dialect: string,
  memories: number,
): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "quire-bench-"));
  const postgres = dialect === "postgresql" ? await startPostgres() : undefined;
  const server = await startVectorServer();
  const database = postgres ? await postgres.createDatabase("memories") : `file:${join(folder, "quire.db")}`;
  const random = seeded(6);
  const all = conversations.flatMap(({ questions }) => questions.map(({ question }) => question));
  const questions = Array.from({ length: asked }, () => all[Math.floor(random() * all.length)]!);
  const figures: Figure[] = [];
  try {
    for (const embedder of ["openai", "none"]) {
      const flags = { logLevel: "silent", database, embedder, embedderOpenaiUrl: server.url };
      const engine = await openEngine(loadConfig({ env: {}, flags }), createLogger("silent"));
      const quire = quireOn(engine);
      try {
        if (embedder === "openai") {
          progress(`recall: writing ${memories.toLocaleString("en")} memories`);
          await writeMemories(quire, copies(conversations, memories));
          const persona = { corePrompt: "You know what you were told." };
          await quire.capsules.putCapsule({ name: agent, body: { persona } });
          await quire.ledger.createSession({ label: "asking", defaults: { capsule: agent } });
          await untilSearchable(engine);
        }
        const how = embedder === "none" ? "keyword only" : "with a ready query vector";
        figures.push(
          ...(await contexts(
            quire,
            questions,
            `${memories.toLocaleString("en")} memories, ${how}, ${dialect}`,
          )),
        );
      } finally {
        await quire.close();
      }
    }
  } finally {
    await server.close();
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return figures;
}

async function contexts(quire: Quire, questions: readonly string[], name: string): Promise<Figure[]> {
  let recalled = 0;
  const build = (question: string, isRecalling: boolean) => async () => {
    const { context } = await quire.assembly.buildContext({
      context: {
        session: "asking",
        model: "gpt-4o",
        event: { content: user(question).parts },
        ...(isRecalling ? {} : { settings: { sources: [{ name: "memory", enabled: false }] } }),
      },
    } as never);
    const memory = context!.sources.find((source) => source.name === "memory");
    if (isRecalling && (memory?.blocks ?? 0) > 0) recalled++;
  };
  for (let round = 0; round < 5; round++)
    for (const question of questions) {
      await build(question, true)();
      await build(question, false)();
    }
  recalled = 0;
  const ms = { with: [] as number[], without: [] as number[], cpu: [] as number[] };
  for (let round = 0; round < rounds; round++)
    for (const question of questions) {
      const cpu = await cpuMs(async () => {
        ms.with.push(await elapsedMs(build(question, true)));
      });
      ms.cpu.push(cpu);
      ms.without.push(await elapsedMs(build(question, false)));
    }
  if (recalled === 0) throw new Error(`nothing was recalled: ${name}`);
  const value = median(ms.with);
  return [
    {
      figure: `recall: assembly with recall, p50, ${name}`,
      value,
      unit: "ms",
      limit: longestMs,
      holds: value <= longestMs,
      note: "at most",
    },
    { figure: `recall: the same, CPU, p50, ${name}`, value: median(ms.cpu), unit: "ms" },
    { figure: `recall: the same without recall, p50, ${name}`, value: median(ms.without), unit: "ms" },
    {
      figure: `recall: contexts that recalled something, ${name}`,
      value: (100 * recalled) / (rounds * questions.length),
      unit: "%",
    },
  ];
}
