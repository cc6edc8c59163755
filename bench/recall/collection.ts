import type { Quire } from "../../src/index.js";
import type { Conversation } from "../locomo.js";
import { user } from "./said.js";

/** One thing to look for, and where it is. */
export interface Wanted {
  readonly query: string;
  readonly evidence: readonly string[];
}

/** Texts of one agent, and what is looked for in them. */
export interface Collection {
  readonly agent: string;
  readonly sessions: readonly (readonly Saying[])[];
  readonly wanted: readonly Wanted[];
  /** The time at which is asked. */
  readonly askedMs: number;
}

export interface Saying {
  readonly id: string;
  readonly text: string;
  readonly timeMs: number;
}

const monthMs = 30 * 86_400_000;

/** Each turn as `speaker: text [caption]`, each LoCoMo session as a session of its own. */
export function ofConversation({ name, sessions, questions }: Conversation): Collection {
  const ids = new Set(sessions.flat().map(({ id }) => id));
  return {
    agent: name,
    sessions: sessions.map((turns) =>
      turns.map(({ id, speaker, text, spokenMs }) => ({ id, text: `${speaker}: ${text}`, timeMs: spokenMs })),
    ),
    wanted: questions
      .map(({ question, evidence }) => ({ query: question, evidence: evidence.filter((id) => ids.has(id)) }))
      .filter(({ evidence }) => evidence.length > 0),
    askedMs: Math.max(...sessions.flat().map(({ spokenMs }) => spokenMs)) + monthMs,
  };
}

/** Several as one agent's. */
export function asOne(collections: readonly Collection[]): Collection {
  const own = (agent: string, id: string) => `${agent} ${id}`;
  return {
    agent: "all",
    sessions: collections.flatMap(({ agent, sessions }) =>
      sessions.map((sayings) => sayings.map((saying) => ({ ...saying, id: own(agent, saying.id) }))),
    ),
    wanted: collections.flatMap(({ agent, wanted }) =>
      wanted.map(({ query, evidence }) => ({ query, evidence: evidence.map((id) => own(agent, id)) })),
    ),
    askedMs: Math.max(0, ...collections.map(({ askedMs }) => askedMs)),
  };
}

/** Writes a collection as turns, and gives the ids of what was said by the ids of turns. */
export async function write(quire: Quire, { agent, sessions }: Collection): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const [at, sayings] of sessions.entries()) {
    const session = `${agent} ${at}`;
    await quire.ledger.createSession({ label: session, defaults: { capsule: agent } });
    for (const { id, text, timeMs } of sayings) {
      const metadata = { time: new Date(timeMs).toISOString() };
      const { turn } = await quire.ledger.recordTurn({
        session,
        messages: [user(text)],
        details: { metadata },
      });
      ids.set(turn!.id, id);
    }
  }
  return ids;
}
