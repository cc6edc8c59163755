import { Message } from "../../contract/gen/quire/v1/message.js";
import { AgentRole } from "../../contract/gen/quire/v1/origin.js";
import type { Session, SessionDefaults } from "../../contract/gen/quire/v1/session.js";
import { type ModelCall, type Turn, TurnDetails, TurnStatus } from "../../contract/gen/quire/v1/turn.js";
import { messageJson, sessionJson, turnJson } from "../../contract/proto-json.js";
import { UnreadableInput } from "../../errors/unreadable-input.js";
import { Findings } from "../findings.js";
import { mostItems } from "./bounds.js";
import { isObject } from "./json.js";
import type { Importer, ImportLabel, ImportPlan, PlannedTurn } from "./transcript.js";

/**
 * What `quire export` writes: a session line, then a line for each turn, with a line for each of its messages behind it.
 * Turns are written as they were; ids, times, hashes and counts are the server's and come anew.
 */
export const importQuireJsonl: Importer = (fileText, label) => {
  let session: Session | undefined;
  const turns: { readonly turn: Turn; readonly messages: Message[] }[] = [];
  for (const [index, line] of fileText.split("\n").entries()) {
    if (line.trim() === "") continue;
    const where = `line ${index + 1}`;
    const value = parseLine(line, where);
    if ("session" in value && !session) session = sessionJson.fromJson(value.session);
    else if ("turn" in value && session) turns.push({ turn: finishedTurn(value.turn, where), messages: [] });
    else if ("message" in value && turns.length > 0)
      turns.at(-1)?.messages.push(messageJson.fromJson(value.message));
    else
      throw new UnreadableInput(
        `${where} is out of place: a session, then turns, each with its messages behind it`,
      );
  }
  if (!session)
    throw new UnreadableInput('the file is no quire-jsonl: its first line must be {"session": ...}');
  return plan(session, turns.map(planTurn), label);
};

/** A thread holds finished turns only: an open or failed one could not have another behind it. */
function finishedTurn(json: unknown, where: string): Turn {
  const turn = turnJson.fromJson(json);
  if (turn.status === TurnStatus.COMPLETED || turn.status === TurnStatus.AWAITING) return turn;
  throw new UnreadableInput(
    `${where} is a turn that is neither COMPLETED nor AWAITING, so it is in no thread`,
  );
}

/** A worker's task stays with its link to a parent: without it, the session is that of no worker. */
function withoutTask(defaults: SessionDefaults | undefined): SessionDefaults | undefined {
  return defaults?.role === AgentRole.WORKER ? { ...defaults, role: undefined } : defaults;
}

function plan(session: Session, turns: readonly PlannedTurn[], { label, given }: ImportLabel): ImportPlan {
  const findings = new Findings();
  if (session.aliases.length > 0) findings.add("aliases, left out", session.label, session.aliases.length);
  if (session.subAgent) findings.add("links to a parent session, left out", session.label);
  // A session without a name of its own has its id for a label, which another session cannot be given.
  const own = session.label === session.id ? "" : session.label;
  return {
    sessions: [
      {
        label: given || own === "" ? label : own,
        workspacePath: session.workspacePath,
        metadata: session.metadata,
        defaults: withoutTask(session.defaults),
        turns,
      },
    ],
    findings: findings.list(),
  };
}

function planTurn({
  turn,
  messages,
}: {
  readonly turn: Turn;
  readonly messages: readonly Message[];
}): PlannedTurn {
  return {
    messages: messages.map(({ role, parts, contextParts, contextJson, injected }) =>
      Message.fromPartial({ role, parts, contextParts, contextJson, injected }),
    ),
    status: turn.status,
    abandonOpenItems: turn.abandonedItems.length > 0,
    details: turn.details ?? TurnDetails.fromPartial({}),
    result: {
      usage: turn.usage,
      modelCalls: modelCalls(turn),
      stopReason: turn.stopReason,
      error: turn.error,
      permissionsUsed: turn.permissionsUsed,
    },
  };
}

/** The calls without their assemblies, which stay where they were made. More than RecordTurn takes are kept as one: their sum. */
function modelCalls({ modelCalls: calls }: Turn): readonly ModelCall[] {
  if (calls.length > mostItems("AgentResult.model_calls")) return [];
  return calls.map((call) => ({ ...call, assemblyId: undefined }));
}

function parseLine(line: string, where: string): object {
  try {
    const value: unknown = JSON.parse(line);
    if (isObject(value)) return value;
  } catch {
    // Said below, with the line.
  }
  throw new UnreadableInput(`${where} is no JSON object: a quire-jsonl file is read whole or not at all`);
}
