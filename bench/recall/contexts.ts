import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load-config.js";
import { openEngine } from "../../src/engine.js";
import { type Quire, quireOn } from "../../src/in-process/quire.js";
import { createLogger } from "../../src/telemetry/logger.js";
import type { Figure } from "../figure.js";
import type { Conversation, Question } from "../locomo.js";
import { progress, seeded } from "../measure.js";
import { untilSearchable } from "./many.js";
import { user } from "./said.js";

const owners = 4;
const asked = 40;
/** Of what a question recalls alone, so much at least comes when it stands among other things. */
const leastShare = 0.8;
/** Small talk about nothing that was kept recalls no more texts than this, on average. */
const mostTexts = 1;

type Say = (question: string) => string;

/** What contexts recall of an archive, by what the message asks: a question alone, among small talk, and small talk alone, by words. */
export async function contexts(conversations: readonly Conversation[]): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "quire-bench-"));
  const flags = { logLevel: "silent", database: `file:${join(folder, "quire.db")}`, embedder: "none" };
  const engine = await openEngine(loadConfig({ env: {}, flags }), createLogger("silent"));
  const quire = quireOn(engine);
  try {
    const own = conversations.slice(0, owners);
    progress("recall: writing what four people kept");
    for (const conversation of own) await keep(quire, conversation);
    await untilSearchable(engine);
    const random = seeded(11);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
    // What others said, who know nobody here.
    const talk = conversations
      .slice(owners)
      .flatMap(({ sessions }) => sessions.flat().map(({ text }) => text))
      .filter((text) => text.length > 60 && !text.includes("?"));
    const questions = own.map(({ questions }) => Array.from({ length: asked }, () => pick(questions)));
    const lower = (question: string) => question[0]!.toLowerCase() + question.slice(1);
    const alone = await told(quire, own, questions, (question) => question);
    const after = await told(quire, own, questions, (question) => {
      return `${pick(talk)} ${pick(talk)} By the way, ${lower(question)}`;
    });
    const before = await told(quire, own, questions, (question) => {
      return [question, ...Array.from({ length: 4 }, () => pick(talk))].join(" ");
    });
    const only = await told(quire, own, questions, () => `${pick(talk)} ${pick(talk)}`);
    const thanks = [
      "Thank you!",
      "And now?",
      "Ok.",
      "Sounds great, let's do it.",
      "What is the capital of France?",
    ];
    const short = await told(quire, own, questions, () => pick(thanks));
    const share = (what: string, { evidence }: Told): Figure => {
      const holds = evidence >= leastShare * alone.evidence;
      const limit =
        what === "alone" ? {} : { limit: 100 * leastShare * alone.evidence, holds, note: "at least" };
      return {
        figure: `recall: evidence that a context has, the question ${what}`,
        value: 100 * evidence,
        unit: "%",
        ...limit,
      };
    };
    const noise = (what: string, { texts }: Told): Figure => {
      const figure = `recall: texts that a context recalls for ${what}`;
      return { figure, value: texts, unit: "", limit: mostTexts, holds: texts <= mostTexts, note: "at most" };
    };
    return [
      share("alone", alone),
      { figure: "recall: texts that a context recalls for a question", value: alone.texts, unit: "" },
      share("after small talk", after),
      share("before small talk", before),
      noise("small talk", only),
      noise("thanks and the like", short),
    ];
  } finally {
    await quire.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function keep(quire: Quire, { name, sessions }: Conversation): Promise<void> {
  const owner = { kind: "OWNER_KIND_AGENT", name } as const;
  for (const { speaker, text, spokenMs } of sessions.flat()) {
    const metadataJson = JSON.stringify({ time: new Date(spokenMs).toISOString() });
    await quire.memory.insertArchival({ owner, content: `${speaker}: ${text}`, metadataJson });
  }
  await quire.capsules.putCapsule({
    name,
    body: { persona: { corePrompt: "You know what you were told." } },
  });
  await quire.ledger.createSession({ label: name, defaults: { capsule: name } });
}

interface Told {
  /** The share of the evidence that contexts had. */
  readonly evidence: number;
  /** How many texts a context recalled. */
  readonly texts: number;
}

async function told(
  quire: Quire,
  conversations: readonly Conversation[],
  questions: readonly (readonly Question[])[],
  say: Say,
): Promise<Told> {
  let wanted = 0;
  let found = 0;
  let texts = 0;
  for (const [at, { name, sessions }] of conversations.entries()) {
    const said = new Map(sessions.flat().map(({ id, text }) => [id, text]));
    for (const { question, evidence } of questions[at]!) {
      const sent = await sentWith(quire, name, say(question));
      texts += sent.match(/<memory /g)?.length ?? 0;
      for (const text of evidence.flatMap((id) => said.get(id) ?? [])) {
        wanted++;
        if (sent.includes(text.slice(0, 60))) found++;
      }
    }
  }
  return { evidence: found / wanted, texts: texts / (conversations.length * asked) };
}

async function sentWith(quire: Quire, session: string, text: string): Promise<string> {
  const event = { content: user(text).parts };
  const settings = { sources: [{ name: "memory", deadlineMs: 60_000 }] };
  const { context } = await quire.assembly.buildContext({
    context: { session, model: "gpt-4o", event, settings },
  } as never);
  const part = context!.currentMessage?.contextParts[0]?.content;
  return part?.$case === "text" ? part.value.text : "";
}
