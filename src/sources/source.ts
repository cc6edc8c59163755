import type { AgentRole } from "../domain/agent-role.js";
import type { Message } from "../domain/message.js";
import type { PromptTexts } from "../domain/prompt-texts.js";
import type { Soon } from "../domain/soon.js";
import type { SourceRule } from "../domain/source.js";
import type { SourceRules } from "./rules.js";

/** A turn that history shows. */
export interface TurnPlace {
  readonly turnId: string;
  readonly depth: number;
}

/** What history shows of the thread, and with which summary it begins. */
export interface ShownHistory {
  /** Where its first turn stands; 0 where it shows none. */
  readonly firstDepth: number;
  /** The last of its turns, 16 at least where it has them, oldest first; the active turn among them. */
  readonly turns: readonly TurnPlace[];
  /** Empty where no summary stands for older turns. */
  readonly compactionId: string;
  /** The summary that it begins with; nothing where there is none. */
  summary(): readonly Message[];
  /** What it shows, the newest first. Read as far as it is asked for. */
  newestFirst(): Iterable<Message>;
}

/** What a source is told of the request that it answers. */
export interface SourceView {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly sessionLabel: string;
  /** The turn that the session's thread ends with; empty for none. */
  readonly headTurnId: string;
  /** The name of the capsule, whose agent's knowledge is asked for. */
  readonly agent: string;
  readonly role: AgentRole;
  /** A worker's; empty for other roles. */
  readonly task: string;
  readonly model: string;
  /** What the event says, its text parts one after the other; empty where there is no event. */
  readonly eventText: string;
  /** Whether the model goes on after the results of its tools: there is no event then. */
  readonly isInToolLoop: boolean;
  /** Who sent the event; empty where that is not known. */
  readonly identity: string;
  readonly platform: string;
  readonly permissions: readonly string[];
  /** What the whole context may use, counted as the model counts. */
  readonly contextTokens: number;
  /** What all sources together may use of it. */
  readonly budgetTokens: number;
  /** What recall is to give at most, and how near it must be: the capsule's knobs. */
  readonly recall: { readonly limit: number; readonly threshold: number | undefined };
  readonly nowMs: number;
  /** Whether the answer must come about without writing anything. */
  readonly isDryRun: boolean;
  /** The words that models read. */
  readonly texts: PromptTexts;
  /** Only for sources that must know what history shows (`isAfterHistory`). */
  readonly history: ShownHistory | undefined;
}

/** A message of an example, which stands before history. */
export interface ExampleMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

export interface SourceLine {
  readonly text: string;
  readonly entity: string;
}

/** What a source has to say, as one piece: kept or left out as a whole. */
export interface SourceBlock {
  /** Unique among the blocks of a source. */
  readonly title: string;
  /** As the model reads it, heading included; nothing in it may pose as something else. */
  readonly content: string;
  /** What stands before and after it, which no cap cuts away. */
  readonly frame?: { readonly open: string; readonly close: string } | undefined;
  /** What it is about, for sources that are suppressed by this one. */
  readonly entities: readonly string[];
  /** The lines of the content after its heading, where each is about something of its own: those that another source covers are left out. */
  readonly lines?: readonly SourceLine[] | undefined;
  /** In place of the source's own. */
  readonly priority?: number | undefined;
  /** Not shown after this time. */
  readonly expiresMs?: number | undefined;
  /** For a source before history: the content as messages. */
  readonly messages?: readonly ExampleMessage[] | undefined;
  /** Whether a part of it would be of no use: where there is too little room, it is left out. */
  readonly isWhole?: boolean | undefined;
  /** Says more in the receipt. */
  readonly detail?: string | undefined;
}

export interface SourceAnswer {
  readonly blocks: readonly SourceBlock[];
  /** Says more in the report. */
  readonly detail?: string | undefined;
}

export const emptyAnswer: SourceAnswer = { blocks: [] };

/** Whoever waits for an answer. */
export interface Waiting {
  /** Aborts when the answer is no longer waited for. Made when it is first looked at. */
  readonly signal: AbortSignal;
}

/** Answers "what should this context know?". It may throw or never answer: then it is left out, and nothing else is harmed. */
export interface Source {
  readonly name: string;
  /**
   * Whether it must know what history shows: then it is asked when that is settled. Before history, it is asked with what history will show if its
   * cut stays; what it says is part of the prefix only where that is written anew, and else stands in the current message.
   */
  readonly isAfterHistory?: boolean;
  /** Whether it has something to say in a tool loop, where it stands at the end of the results. Others are asked for events only. */
  readonly speaksInToolLoops?: boolean;
  /** Stands for the question: what is asked again in the cache's time is answered from there. Undefined: never kept. */
  cacheKey?(view: SourceView): string | undefined;
  fetch(view: SourceView, rules: SourceRules, waiting: Waiting): Promise<SourceAnswer> | SourceAnswer;
}

/** A source that a context asks, and by which rules. */
export interface ActiveSource {
  readonly source: Source;
  readonly rules: SourceRules;
  /** About what it can say at all, in tokens; undefined where nobody knows. */
  readonly knownTokens?: number | undefined;
}

/** What is known of the session that a context is made for. */
export interface AskingSession {
  /** Whether a summary stands for turns of it. */
  readonly holdsCompactions: boolean;
  /** What the turns cost that a summary stands for, if the cut stays. */
  readonly foldedTokens: number;
}

/** Which sources there are for an agent. Asked by every assembly, so it must be cheap where there are none. */
export interface SourceProvider {
  active(
    tenantId: string,
    agent: string,
    rulesOf: ReadonlyMap<string, SourceRule>,
    session: AskingSession,
  ): Soon<readonly OfferedSource[]>;
}

/** Who offers sources that were there from the start. */
export interface SourceOffer extends SourceProvider {
  /** All that it may ever offer. */
  readonly offered: readonly OfferedSource[];
}

/** A source with the rules that hold where nobody says otherwise. */
export interface OfferedSource {
  readonly source: Source;
  readonly defaults: SourceRules;
  /** About what it can say at all, in tokens; undefined where nobody knows. */
  readonly knownTokens?: number | undefined;
}
