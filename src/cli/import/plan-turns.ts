import { Message, MessageRole } from "../../contract/gen/quire/v1/message.js";
import { type TokenUsage, TurnDetails, TurnStatus } from "../../contract/gen/quire/v1/turn.js";
import { mostCharacters } from "./bounds.js";
import { cleanName } from "./clean-name.js";
import { type CutTurn, cutTurns } from "./cut-turns.js";
import type { Findings } from "./findings.js";
import { fitLimits } from "./fit-limits.js";
import { shortMetadata } from "./metadata.js";
import type { PlannedTurn, TranscriptMessage } from "./transcript.js";

/** The turns of a conversation, each as RecordTurn takes it. */
export function planTurns(
  messages: readonly TranscriptMessage[],
  findings: Findings,
  workspacePath = "",
): readonly PlannedTurn[] {
  return cutTurns(messages, findings).map((turn) => planTurn(turn, findings, workspacePath));
}

function planTurn(turn: CutTurn, findings: Findings, workspacePath: string): PlannedTurn {
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
      usage: sumUsage(turn.messages.flatMap(({ usage }) => usage ?? [])),
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

/** A turn may hold many calls of a model; it cost what they cost together. */
function sumUsage(usages: readonly TokenUsage[]): TokenUsage | undefined {
  if (usages.length === 0) return undefined;
  const sum = (key: keyof TokenUsage) =>
    Math.min(
      usages.reduce((total, usage) => total + usage[key], 0),
      0xffff_ffff,
    );
  return {
    inputTokens: sum("inputTokens"),
    outputTokens: sum("outputTokens"),
    cachedInputTokens: sum("cachedInputTokens"),
    cacheWriteTokens: sum("cacheWriteTokens"),
    reasoningTokens: sum("reasoningTokens"),
  };
}
