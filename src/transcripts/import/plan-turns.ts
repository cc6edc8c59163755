import { Message, MessageRole } from "../../contract/gen/quire/v1/message.js";
import { ModelCall, TurnDetails, TurnStatus } from "../../contract/gen/quire/v1/turn.js";
import type { Findings } from "../findings.js";
import { mostCharacters, mostItems } from "./bounds.js";
import { cleanName } from "./clean-name.js";
import { fitLimits } from "./fit-limits.js";
import { shortMetadata } from "./metadata.js";
import { splitTurns, type TranscriptTurn } from "./split-turns.js";
import type { PlannedTurn, TranscriptMessage } from "./transcript.js";

/** The sum that a turn can hold. */
const mostTokens = 0xffff_ffff;

/** The turns of a conversation, each as RecordTurn takes it. */
export function planTurns(
  messages: readonly TranscriptMessage[],
  findings: Findings,
  workspacePath = "",
): readonly PlannedTurn[] {
  return splitTurns(messages, findings).map((turn) => planTurn(turn, findings, workspacePath));
}

function planTurn(turn: TranscriptTurn, findings: Findings, workspacePath: string): PlannedTurn {
  const last = (key: "model" | "provider" | "stopReason") =>
    turn.messages.findLast((message) => Boolean(message[key]))?.[key] ?? "";
  return {
    messages: turn.messages
      .flatMap((message) => fitLimits(message, findings))
      .map(({ role, parts }) => Message.fromPartial({ role, parts })),
    status: turn.awaiting ? TurnStatus.AWAITING : TurnStatus.COMPLETED,
    abandonOpenItems: turn.abandonsOpenItems,
    details: TurnDetails.fromPartial({
      model: cleanName(last("model"), mostCharacters("TurnDetails.model")),
      provider: cleanName(last("provider"), mostCharacters("TurnDetails.provider")),
      workspacePath,
      metadata: turnMetadata(turn.messages, findings),
    }),
    result: {
      usage: undefined,
      modelCalls: modelCalls(turn.messages, findings),
      stopReason: cleanName(last("stopReason"), mostCharacters("AgentResult.stop_reason")),
      error: "",
      permissionsUsed: [],
    },
  };
}

function turnMetadata(messages: readonly TranscriptMessage[], findings: Findings): Record<string, string> {
  const metadata: Record<string, string> = Object.fromEntries(
    messages.flatMap((message) => Object.entries(message.metadata ?? {})),
  );
  const time = messages.find((message) => message.time)?.time;
  if (time) metadata["import.time"] = time;
  const models = [...new Set(messages.flatMap(({ model }) => (model ? [model] : [])))];
  if (models.length > 1) metadata["import.models"] = models.join(", ");
  // A turn that went wrong but stayed in the conversation: FAILED would take it out of the history.
  const errors = messages.flatMap(({ error }) => error ?? []);
  if (errors.length > 0) {
    metadata["import.error"] = errors.join("\n");
    const where = messages.find(({ role }) => role === MessageRole.ASSISTANT)?.where;
    findings.add(
      'answers that ended in an error, which is kept as "import.error" of the turn',
      where,
      errors.length,
    );
  }
  return shortMetadata(metadata, findings);
}

/** What each answer cost by itself. What RecordTurn does not take is cut off. */
function modelCalls(messages: readonly TranscriptMessage[], findings: Findings): readonly ModelCall[] {
  const answers = messages.filter(({ usage }) => usage);
  const most = mostItems("AgentResult.model_calls");
  const left = answers.length - most;
  if (left > 0) findings.add("model calls beyond what a turn takes, left out", answers[most]!.where, left);
  const kept = answers.slice(0, most);
  const total = kept.reduce((sum, { usage }) => sum + Math.max(...Object.values(usage!)), 0);
  if (total > mostTokens) {
    findings.add("turns that report more tokens than can be, kept without them", kept[0]!.where);
    return [];
  }
  return kept.map(({ usage, model = "", provider = "" }) =>
    ModelCall.fromPartial({
      usage: usage!,
      model: cleanName(model, mostCharacters("ModelCall.model")),
      provider: cleanName(provider, mostCharacters("ModelCall.provider")),
    }),
  );
}
