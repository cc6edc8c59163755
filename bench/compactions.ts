import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageRoot } from "../src/config/package-root.js";
import type { CompactionTurn } from "../src/contract/gen/quire/v1/compaction.js";
import { MessageRole } from "../src/domain/message.js";
import { createQuire, type Quire } from "../src/index.js";
import { planImport } from "../src/transcripts/import/formats.js";
import type { PlannedSession } from "../src/transcripts/import/transcript.js";
import { atMost, type Figure } from "./figure.js";
import { progress } from "./measure.js";

const data = process.env.QUIRE_EVAL_DATA ?? join(packageRoot, "..", "shared", "data");
const file = join(data, "tau-bench", "airline-dev.json");
const budgets = [4_096, 8_192];
const nearTurns = 3;
/** A compaction frees at least this share of what history may use. */
const leastFreed = 0.2;

/** A compaction of a session that grew turn by turn. */
interface Made {
  /** How many turns after the one before; undefined for a session's first. */
  readonly turnsSince: number | undefined;
  /** What it freed, with what was shortened, as a share of what history may use. */
  readonly freed: number;
}

/** Real sessions of a service agent, grown turn by turn at small budgets: how often compactions follow each other, and how many free too little. */
export async function run(): Promise<Figure[]> {
  if (!existsSync(file)) {
    progress(`compactions: skipped, there is no ${file}; QUIRE_EVAL_DATA names the folder`);
    return [];
  }
  const source = { format: "openai" as const, text: readFileSync(file, "utf8"), stem: "airline" };
  const { sessions } = planImport(source, {});
  const figures: Figure[] = [];
  for (const budget of budgets) {
    const made = await compactionsAt(budget, sessions);
    const shareOf = (isMeant: (each: Made) => boolean) =>
      made.length === 0 ? 0 : made.filter(isMeant).length / made.length;
    const near = shareOf(({ turnsSince }) => turnsSince !== undefined && turnsSince <= nearTurns);
    const direct = shareOf(({ turnsSince }) => turnsSince === 1);
    const small = shareOf(({ freed }) => freed < leastFreed);
    const name = `compactions at ${budget / 1_024}k`;
    progress(
      `${name}: ${made.length}; directly after another ${percent(direct)}, within ${nearTurns} turns ${percent(near)}, freed under a fifth ${percent(small)}`,
    );
    figures.push(
      { figure: name, value: made.length, unit: "compactions" },
      percentage(`${name}: directly after another`, direct, 10),
      percentage(`${name}: within ${nearTurns} turns of another`, near, 15),
      percentage(`${name}: freed under a fifth of the room`, small, 10),
    );
  }
  return figures;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function percentage(figure: string, share: number, limit: number): Figure {
  return { ...atMost(figure, share * 100, limit), unit: "%" };
}

async function compactionsAt(budget: number, sessions: readonly PlannedSession[]): Promise<Made[]> {
  const folder = mkdtempSync(join(tmpdir(), "quire-bench-"));
  const quire = await createQuire({ database: `file:${join(folder, "quire.db")}`, logLevel: "silent" });
  try {
    await quire.capsules.putCapsule({
      name: "desk",
      body: { persona: { corePrompt: policyOf(sessions), model: { model: "gpt-4o" } } },
    });
    const made: Made[] = [];
    for (const session of sessions) made.push(...(await grow(quire, budget, session)));
    return made;
  } finally {
    await quire.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The desk's rules: every session begins with them. */
function policyOf(sessions: readonly PlannedSession[]): string {
  const messages = sessions.flatMap(({ turns }) => turns.flatMap((turn) => turn.messages));
  const content = messages.find(({ role }) => role === MessageRole.SYSTEM)?.parts[0]?.content;
  return content?.$case === "text" ? content.value.text : "You help travellers.";
}

/** Each turn answers a context that was assembled for what the user says in it. */
async function grow(quire: Quire, budget: number, { label, turns }: PlannedSession): Promise<Made[]> {
  await quire.ledger.createSession({ label });
  const made: Made[] = [];
  let last: number | undefined;
  for (const [at, { messages, status, abandonOpenItems }] of turns.entries()) {
    const asked = messages.find(({ role }) => role === MessageRole.USER)?.parts ?? [];
    const { freed, assemblyId } = await assembleFor(quire, budget, label, [...asked]);
    if (freed !== undefined) {
      made.push({ turnsSince: last === undefined ? undefined : at - last, freed });
      last = at;
    }
    await quire.ledger.recordTurn({
      session: label,
      messages: [...messages],
      status,
      abandonOpenItems,
      assemblyId,
    });
  }
  return made;
}

async function assembleFor(
  quire: Quire,
  maxContextTokens: number,
  session: string,
  content: PlannedSession["turns"][number]["messages"][number]["parts"],
) {
  let made: CompactionTurn | undefined;
  let elided = 0;
  const event = { id: "said", content: [...content] };
  // There is nothing to recall, so nothing is kept free for it.
  const settings = { defaultLimits: { memoryTokens: 0 } };
  const context = { session, capsule: "desk", maxContextTokens, event, settings };
  for await (const { event: step } of quire.assembly.assemble({ context })) {
    if (step?.$case === "compaction" && step.value.event?.$case === "finished") made = step.value.event.value;
    if (step?.$case === "history")
      for (const { tokensBefore, tokensAfter } of step.value.layer?.elisions ?? [])
        elided += tokensBefore - tokensAfter;
    if (step?.$case !== "completed") continue;
    const { available, used } = step.value.budget!;
    const room = available - used!.systemPrompt - used!.tools - used!.event;
    const freed = made && (made.tokensBefore - made.tokensAfter + elided) / room;
    return { assemblyId: step.value.assemblyId!, freed };
  }
  throw new Error("the context was not completed");
}
