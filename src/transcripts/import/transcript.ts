import type { Message, MessageRole, Part } from "../../contract/gen/quire/v1/message.js";
import type { SessionDefaults, SubAgentLink } from "../../contract/gen/quire/v1/session.js";
import type { AgentResult, TokenUsage, TurnDetails, TurnStatus } from "../../contract/gen/quire/v1/turn.js";
import type { Finding } from "../findings.js";

/** One message as a transcript has it, before the ledger's rules are applied. */
export interface TranscriptMessage {
  readonly role: MessageRole;
  readonly parts: readonly Part[];
  /** Where it stands in the file, for people: "message 4", an entry's id. */
  readonly where: string;
  /** ISO 8601; when the transcript says it was written. */
  readonly time?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly usage?: TokenUsage | undefined;
  readonly stopReason?: string | undefined;
  readonly error?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** A turn that RecordTurn takes. */
export interface PlannedTurn {
  readonly messages: readonly Message[];
  readonly status: TurnStatus;
  readonly abandonOpenItems: boolean;
  readonly details: TurnDetails;
  readonly result: Pick<AgentResult, "usage" | "modelCalls" | "stopReason" | "error" | "permissionsUsed">;
}

/** A session to be made, and its turns, the oldest first. */
export interface PlannedSession {
  readonly label: string;
  readonly workspacePath: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The session starts at a turn of an earlier session of the plan; `turns` are those that follow. */
  readonly forkOf?: { readonly session: number; readonly turns: number } | undefined;
  /** The session is a sub-agent's; `parent` is an earlier session of the plan. */
  readonly subAgent?:
    | (Pick<SubAgentLink, "task" | "taskStatus" | "spawningCallId"> & { readonly parent: number })
    | undefined;
  /** What the session remembers. A fork remembers what it is forked from does. */
  readonly defaults?: SessionDefaults | undefined;
  readonly turns: readonly PlannedTurn[];
}

/** What an import will write, and all that it found odd on the way. */
export interface ImportPlan {
  readonly sessions: readonly PlannedSession[];
  readonly findings: readonly Finding[];
}

/** All turns of a planned session's thread: those of the session it is forked from, then its own. */
export function wholeThread(plan: ImportPlan, session: PlannedSession): readonly PlannedTurn[] {
  const base = session.forkOf && plan.sessions[session.forkOf.session];
  return base
    ? [...wholeThread(plan, base).slice(0, session.forkOf?.turns), ...session.turns]
    : session.turns;
}

/** The label for what is imported; one that was not given comes from the file's name. */
export interface ImportLabel {
  readonly label: string;
  readonly given: boolean;
}

/** Turns the text of a file into a plan. Does no I/O; throws UnreadableInput for a text of another format. */
export type Importer = (text: string, label: ImportLabel) => ImportPlan;
