import {
  type AppendMessagesRequest,
  type BeginTurnRequest,
  type CompactRequest,
  type CompleteTurnRequest,
  type CreateSessionRequest,
  type ForkSessionRequest,
  OnHeadMoved,
  type RecordTurnRequest,
  type UpdateSessionRequest,
} from "../../../contract/gen/quire/v1/ledger_service.js";
import type { CapabilityScope, SessionTools } from "../../../contract/gen/quire/v1/session.js";
import { type AgentResult, TokenUsage } from "../../../contract/gen/quire/v1/turn.js";
import { rulesNamed } from "../../../contract/rules.js";
import { CompressionStrategy } from "../../../domain/context-settings.js";
import type { Checker } from "../checker.js";
import { checkOnce } from "./once.js";

const usageKeys = Object.keys(TokenUsage.fromPartial({})) as readonly (keyof TokenUsage)[];
const maxMessages = rulesNamed("AgentResult", "messages").repeated?.maxItems ?? Number.POSITIVE_INFINITY;

export const ledgerChecks = {
  // Each is needed with the other.
  UpdateSessionRequest: (checker: Checker, request: UpdateSessionRequest) => {
    const { headTurnId, expectedHeadTurnId } = request;
    if (headTurnId !== undefined && expectedHeadTurnId === undefined)
      checker.wrong("expected_head_turn_id", "is required with head_turn_id");
    if (headTurnId === undefined && expectedHeadTurnId !== undefined)
      checker.wrong("head_turn_id", "is required with expected_head_turn_id");
  },
  // The strategies of assemblies, but for the one that makes no compaction.
  CompactRequest: (checker: Checker, { compressionStrategy }: CompactRequest) => {
    if (compressionStrategy === CompressionStrategy.WINDOW)
      checker.wrong("compression_strategy", "makes no compaction");
  },
  // A sum over a list.
  AgentResult: (checker: Checker, { usage, modelCalls }: AgentResult) => {
    if (!usage || modelCalls.length === 0) return;
    const isSum = usageKeys.every(
      (key) => usage[key] === modelCalls.reduce((sum, call) => sum + (call.usage?.[key] ?? 0), 0),
    );
    if (!isSum) checker.wrong("usage", "is not the sum of model_calls");
  },
  // One or the other.
  CapabilityScope: (checker: Checker, { all, capabilities }: CapabilityScope) => {
    if (all && capabilities.length > 0) checker.wrong("capabilities", "are given besides all");
  },
  // One of several.
  ForkSessionRequest: (checker: Checker, { session, at }: ForkSessionRequest) => {
    if (session === "" && !at) checker.wrong("session", "is required, or a turn");
  },
  // What is to be found needs a name.
  CreateSessionRequest: (checker: Checker, { getIfExists, label }: CreateSessionRequest) => {
    if (getIfExists && label === "") checker.wrong("label", "is required with get_if_exists");
  },
  // Names once.
  SessionTools: (checker: Checker, { tools }: SessionTools) =>
    checkOnce(checker, "tools", tools, "name", ({ name }) => name),
  // At least one of several.
  AppendMessagesRequest: (checker: Checker, { messages, toolResults, response }: AppendMessagesRequest) => {
    if (messages.length === 0 && toolResults.length === 0 && !response)
      checker.wrong("messages", "is empty, and there are no tool_results and no response: nothing to add");
    checkOnce(checker, "tool_results", toolResults, "call_id", ({ callId }) => callId);
  },
  // What a branch does not need.
  BeginTurnRequest: (checker: Checker, { toolResults, lease, onHeadMoved }: BeginTurnRequest) => {
    checkOnce(checker, "tool_results", toolResults, "call_id", ({ callId }) => callId);
    if (lease && onHeadMoved === OnHeadMoved.BRANCH)
      checker.wrong("lease", "is for a turn that goes after the session's head, and on_head_moved is BRANCH");
  },
  CompleteTurnRequest: (checker: Checker, { toolResults }: CompleteTurnRequest) =>
    checkOnce(checker, "tool_results", toolResults, "call_id", ({ callId }) => callId),
  // Two lists together.
  RecordTurnRequest: (checker: Checker, { messages, result, toolResults, response }: RecordTurnRequest) => {
    checkOnce(checker, "tool_results", toolResults, "call_id", ({ callId }) => callId);
    const total = messages.length + (result?.messages.length ?? 0);
    if (total === 0 && toolResults.length === 0 && !response)
      checker.wrong("messages", "is empty, and so is result.messages: a turn needs a message");
    if (total > maxMessages && messages.length <= maxMessages)
      checker.wrong("result.messages", `with messages has more than ${maxMessages.toLocaleString("en")}`);
  },
};
