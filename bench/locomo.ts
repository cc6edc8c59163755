import { join } from "node:path";
import { evalDataFolder, readEvalData } from "./eval-data.js";

export interface Spoken {
  readonly id: string;
  readonly speaker: string;
  readonly text: string;
  readonly spokenMs: number;
}

export interface Question {
  readonly question: string;
  readonly answer: string;
  readonly evidence: readonly string[];
}

export interface Conversation {
  readonly name: string;
  readonly speakers: readonly [string, string];
  readonly sessions: readonly (readonly Spoken[])[];
  readonly questions: readonly Question[];
}

interface StoredConversation {
  readonly sample_id: string;
  readonly conversation: Readonly<Record<string, unknown>>;
  readonly qa: readonly {
    readonly question: string;
    readonly answer?: string | number;
    readonly evidence: readonly string[];
  }[];
}

interface StoredTurn {
  readonly speaker: string;
  readonly dia_id: string;
  readonly text: string;
  readonly blip_caption?: string;
}

const path = "locomo/dev.json";

export const locomoFile = join(evalDataFolder, path);

/** The conversations of LoCoMo; nothing where they are not there. */
export function readLocomo(): Conversation[] | undefined {
  const text = readEvalData(path);
  if (text === undefined) return undefined;
  const stored = JSON.parse(text) as readonly StoredConversation[];
  return stored.map(({ sample_id, conversation, qa }) => ({
    name: sample_id,
    speakers: [String(conversation.speaker_a), String(conversation.speaker_b)],
    sessions: sessionsOf(conversation),
    questions: qa.map(({ question, answer, evidence }) => ({
      question,
      answer: String(answer ?? ""),
      evidence: evidence.flatMap((ids) => ids.split(/[;\s]+/u)),
    })),
  }));
}

function sessionsOf(conversation: StoredConversation["conversation"]): Spoken[][] {
  const sessions: Spoken[][] = [];
  for (let at = 1; ; at++) {
    const turns = conversation[`session_${at}`] as readonly StoredTurn[] | undefined;
    if (turns === undefined) return sessions;
    const spokenMs = timeOf(String(conversation[`session_${at}_date_time`]));
    sessions.push(
      turns.map(({ dia_id, speaker, text, blip_caption }) => ({
        id: dia_id,
        speaker,
        text: blip_caption === undefined ? text : `${text} [${blip_caption}]`,
        spokenMs,
      })),
    );
  }
}

/** `1:56 pm on 8 May, 2023`. */
function timeOf(text: string): number {
  const [time, day] = text.split(" on ");
  const ms = Date.parse(`${day?.replace(",", "")} ${time?.replace(/(am|pm)/u, " $1")} UTC`);
  return Number.isNaN(ms) ? Date.parse(`${day?.replace(",", "")} UTC`) : ms;
}
