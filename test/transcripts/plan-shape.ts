import { messageDescriptor } from "../../src/contract/descriptors.js";
import { RecordTurnRequest } from "../../src/contract/gen/quire/v1/ledger_service.js";
import type { Message, Part } from "../../src/contract/gen/quire/v1/message.js";
import { AgentResult } from "../../src/contract/gen/quire/v1/turn.js";
import { checkEnd, checkParts, extendState } from "../../src/ledger/check-messages.js";
import { locate, stateUnder } from "../../src/ledger/turn-draft.js";
import { checked } from "../../src/server/validation/engine/message-check.js";
import {
  type ImportPlan,
  type PlannedSession,
  type PlannedTurn,
  wholeThread,
} from "../../src/transcripts/import/transcript.js";

const validate = checked(messageDescriptor("RecordTurnRequest"));

/** A turn in a few words: "user hi", "assistant -> search#c1", "tool c1=found". */
export function shapeOf(turn: PlannedTurn): readonly string[] {
  const status = turn.status === "TURN_STATUS_AWAITING" ? ["(awaiting)"] : [];
  return [...(turn.abandonOpenItems ? ["(abandons)"] : []), ...turn.messages.map(messageShape), ...status];
}

export function shapes(session: PlannedSession | undefined): readonly (readonly string[])[] {
  return session?.turns.map(shapeOf) ?? [];
}

export function messageShape(message: Message): string {
  const role = message.role.replace("MESSAGE_ROLE_", "").toLowerCase();
  return `${role} ${message.parts.map(partShape).join(" + ")}`;
}

function partShape({ content }: Part): string {
  switch (content?.$case) {
    case "text":
      return content.value.text;
    case "thinking":
      return `thinking(${content.value.text}/${content.value.signature}/${content.value.provider})`;
    case "toolCall":
      return `-> ${content.value.name}#${content.value.callId}${content.value.argumentsJson}`;
    case "toolResult": {
      const texts = content.value.content.map((piece) => partShape({ content: piece.content })).join(",");
      return `${content.value.callId}=${texts}${content.value.isError ? "!" : ""}`;
    }
    case "image":
    case "file": {
      const { source, mediaType } = content.value;
      const shown = source?.$case === "data" ? `${source.value.length} bytes` : source?.value;
      return `${content.$case}(${shown}${mediaType ? ` ${mediaType}` : ""})`;
    }
    case "opaque":
      return `opaque(${content.value.provider} ${content.value.kind} ${content.value.data.toString("utf8")})`;
    default:
      return String(content?.$case);
  }
}

/** Lays a plan on the ledger's own rules and bounds. Throws what the server would answer. */
export function requireLedgerTakes(plan: ImportPlan): void {
  for (const session of plan.sessions) {
    let parent: Parameters<typeof stateUnder>[0];
    for (const turn of wholeThread(plan, session)) {
      validate(
        RecordTurnRequest.fromPartial({
          session: session.label,
          details: turn.details,
          messages: turn.messages,
          result: AgentResult.fromPartial(turn.result),
          status: turn.status,
        }),
      );
      const messages = locate(turn.messages, "messages");
      checkParts(messages);
      const state = stateUnder(parent, turn.abandonOpenItems);
      extendState(state, messages);
      checkEnd(state, turn.status, "status");
      // Of a stored turn only what it leaves open matters to the next one.
      parent = { openStateJson: state.toFinishedJson() } as NonNullable<typeof parent>;
    }
  }
}

/** How often a finding came, by the start of its text. */
export function found(plan: ImportPlan, start: string): number {
  return plan.findings.find(({ what }) => what.startsWith(start))?.count ?? 0;
}
