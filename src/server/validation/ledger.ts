import type * as wire from "../../contract/gen/quire/v1/ledger_service.js";
import type { SessionDefaults, SubAgentLink } from "../../contract/gen/quire/v1/session.js";
import type { AgentResult, TurnDetails } from "../../contract/gen/quire/v1/turn.js";
import { CompressionStrategy } from "../../domain/context-settings.js";
import { type Checker, checked, checkPage, checkRequestId } from "./checker.js";
import { checkSummarizers } from "./context-settings.js";
import { checkMessages, maxMessagesPerCall } from "./messages.js";
import { checkTools } from "./workspace.js";

/** The bounds that the contract states for each request of the ledger, checked before anything else is done. */

const name = { min: 1, max: 256 };
const endStatuses = [
  "TURN_STATUS_UNSPECIFIED",
  "TURN_STATUS_COMPLETED",
  "TURN_STATUS_AWAITING",
  "TURN_STATUS_FAILED",
];
const textColumn = { max: 65_536, unit: "bytes", content: true } as const;

export const validateCreateSession = checked<wire.CreateSessionRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("label", request.label, { max: 256 });
  checker.text("workspace_path", request.workspacePath, { max: 4_096 });
  checker.tags("metadata", request.metadata);
  if (request.subAgent) checkSubAgent(checker, request.subAgent);
  checkDefaults(checker, request.defaults);
});

function checkDefaults(checker: Checker, defaults: SessionDefaults | undefined): void {
  if (!defaults) return;
  checker.text("defaults.capsule", defaults.capsule ?? "", { max: 256 });
  if (defaults.role !== undefined) checker.known("defaults.role", defaults.role);
  checker.text("defaults.workspace", defaults.workspace ?? "", { max: 256 });
  checker.text("defaults.toolset", defaults.toolset ?? "", { max: 256 });
  checker.text("defaults.model", defaults.model ?? "", { max: 256 });
  checker.text("defaults.provider", defaults.provider ?? "", { max: 64 });
  const { capabilities = [] } = defaults.scope ?? {};
  checker.count("defaults.scope.capabilities", capabilities, 0, 1_024);
  for (const [index, capability] of capabilities.slice(0, 1_024).entries())
    checker.text(`defaults.scope.capabilities[${index}]`, capability, name);
  checkTools(checker, "defaults.tools.tools", defaults.tools?.tools ?? []);
}

function checkSubAgent(checker: Checker, link: SubAgentLink): void {
  checker.text("sub_agent.parent_session_id", link.parentSessionId, name);
  checker.uuid("sub_agent.parent_turn_id", link.parentTurnId, false);
  checker.text("sub_agent.spawning_call_id", link.spawningCallId, { max: 256 });
  checkColumn(checker, "sub_agent.task", link.task);
  checker.known("sub_agent.task_status", link.taskStatus);
}

export const validateGetSession = checked<wire.GetSessionRequest>((checker, request) => {
  checker.text("session", request.session, name);
});

export const validateListSessions = checked<wire.ListSessionsRequest>((checker, request) => {
  checkPage(checker, request);
  checker.text("label_prefix", request.labelPrefix, { max: 256 });
  checker.text("parent_session", request.parentSession, { max: 256 });
  checker.known("task_status", request.taskStatus);
});

export const validateUpdateSession = checked<wire.UpdateSessionRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("session", request.session, name);
  if (request.label !== undefined) checker.text("label", request.label, name);
  if (request.workspacePath !== undefined)
    checker.text("workspace_path", request.workspacePath, { max: 4_096 });
  checker.tags("set_metadata", request.setMetadata);
  checker.count("remove_metadata", request.removeMetadata, 0, 64);
  for (const [index, key] of request.removeMetadata.slice(0, 65).entries()) {
    checker.text(`remove_metadata[${index}]`, key, { min: 1, max: 128 });
  }
  if (request.taskStatus !== undefined) {
    checker.oneOf("task_status", request.taskStatus, [
      "TASK_STATUS_PENDING",
      "TASK_STATUS_RUNNING",
      "TASK_STATUS_COMPLETED",
      "TASK_STATUS_FAILED",
      "TASK_STATUS_CANCELLED",
    ]);
  }
  if (request.task !== undefined) checkColumn(checker, "task", request.task);
  checkDefaults(checker, request.defaults);
  if (request.headTurnId !== undefined) {
    checker.uuid("head_turn_id", request.headTurnId, true);
    if (request.expectedHeadTurnId === undefined)
      checker.wrong("expected_head_turn_id", "is required with head_turn_id");
  }
  if (request.expectedHeadTurnId !== undefined) {
    checker.uuid("expected_head_turn_id", request.expectedHeadTurnId, false);
    if (request.headTurnId === undefined)
      checker.wrong("head_turn_id", "is required with expected_head_turn_id");
  }
});

export const validateDeleteSession = checked<wire.DeleteSessionRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("session", request.session, name);
});

export const validateForkSession = checked<wire.ForkSessionRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checkThread(checker, "start", request.start);
  checker.text("label", request.label, { max: 256 });
  checker.text("workspace_path", request.workspacePath, { max: 4_096 });
  checker.tags("metadata", request.metadata);
});

export const validateAliasSession = checked<wire.AliasSessionRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("alias", request.alias, name);
  checker.text("session", request.session, name);
});

export const validateUnaliasSession = checked<wire.UnaliasSessionRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("alias", request.alias, name);
});

export const validateRecordTurn = checked<wire.RecordTurnRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("session", request.session, name);
  checker.uuid("parent_turn_id", request.parentTurnId ?? "", false);
  checker.known("on_head_moved", request.onHeadMoved);
  checker.oneOf("status", request.status, endStatuses);
  checker.uuid("assembly_id", request.assemblyId ?? "", false);
  checkDetails(checker, request.details);
  checkMessages(checker, "messages", request.messages, 0);
  checkResult(checker, request.result);
  const total = request.messages.length + (request.result?.messages.length ?? 0);
  if (total === 0) checker.wrong("messages", "is empty, and so is result.messages: a turn needs a message");
  if (total > maxMessagesPerCall) checker.wrong("result.messages", "with messages has more than 4,096");
});

export const validateBeginTurn = checked<wire.BeginTurnRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("session", request.session, name);
  checker.uuid("parent_turn_id", request.parentTurnId ?? "", false);
  checker.known("on_head_moved", request.onHeadMoved);
  checker.uuid("assembly_id", request.assemblyId ?? "", false);
  checkDetails(checker, request.details);
  checkMessages(checker, "messages", request.messages, 0);
});

export const validateAppendMessages = checked<wire.AppendMessagesRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.uuid("turn_id", request.turnId, true);
  checkMessages(checker, "messages", request.messages, 1);
  if (request.expectedMessageCount !== undefined) {
    checker.number("expected_message_count", request.expectedMessageCount, 0, 1_000_000);
  }
  checker.uuid("assembly_id", request.assemblyId ?? "", false);
});

export const validateCompleteTurn = checked<wire.CompleteTurnRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.uuid("turn_id", request.turnId, true);
  checker.oneOf("status", request.status, endStatuses);
  checker.known("on_head_moved", request.onHeadMoved);
  checkResult(checker, request.result);
  checker.uuid("assembly_id", request.assemblyId ?? "", false);
});

export const validateGetTurn = checked<wire.GetTurnRequest>((checker, request) => {
  checker.uuid("turn_id", request.turnId, true);
});

export const validateListTurns = checked<wire.ListTurnsRequest>((checker, request) => {
  checker.text("session", request.session, name);
  checker.known("scope", request.scope);
  checker.count("statuses", request.statuses, 0, 4);
  for (const [index, status] of request.statuses.slice(0, 5).entries()) {
    checker.oneOf(`statuses[${index}]`, status, ["TURN_STATUS_OPEN", ...endStatuses.slice(1)]);
  }
  checkPage(checker, request);
});

export const validateStreamHistory = checked<wire.StreamHistoryRequest>((checker, request) => {
  checkThread(checker, "thread", request.thread);
  checker.known("view", request.view);
  checker.uuid("after_turn_id", request.afterTurnId, false);
});

export const validateCompact = checked<wire.CompactRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("session", request.session, name);
  checkColumn(checker, "instructions", request.instructions);
  checker.number("keep_turns", request.keepTurns, 0, 1_000);
  if (request.targetTokens !== undefined)
    checker.number("target_tokens", request.targetTokens, 1, 100_000_000);
  checker.known("compression_strategy", request.compressionStrategy);
  if (request.compressionStrategy === CompressionStrategy.WINDOW)
    checker.wrong("compression_strategy", "makes no compaction");
  checkSummarizers(checker, "summarizers", request.summarizers);
});

export const validateSubmitCompaction = checked<wire.SubmitCompactionRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("session", request.session, name);
  checker.text("summary", request.summary, { min: 1, max: 4_194_304, unit: "bytes", content: true });
  checker.text("model", request.model, { max: 256 });
  checker.text("provider", request.provider, { max: 64 });
  checker.text("plan_token", request.planToken, { min: 1, max: 65_536 });
});

export const validateWatchSession = checked<wire.WatchSessionRequest>((checker, request) => {
  checker.text("session", request.session, name);
});

type ThreadChoice = { readonly $case: "session" | "turnId"; readonly value: string } | undefined;

function checkThread(checker: Checker, field: string, thread: ThreadChoice): void {
  if (!thread) checker.wrong(field, "is not set: session or turn_id");
  else if (thread.$case === "session") checker.text("session", thread.value, name);
  else checker.uuid("turn_id", thread.value, true);
}

function checkDetails(checker: Checker, details: TurnDetails | undefined): void {
  if (!details) return;
  checker.known("details.agent_role", details.agentRole);
  checker.text("details.model", details.model, { max: 256 });
  checker.text("details.provider", details.provider, { max: 64 });
  checker.text("details.toolset", details.toolset, { max: 256 });
  checker.names("details.permissions_granted", details.permissionsGranted);
  checker.text("details.workspace_path", details.workspacePath, { max: 4_096 });
  checker.tags("details.metadata", details.metadata);
  if (!details.sourceEvent) return;
  checker.text("details.source_event.id", details.sourceEvent.id, { max: 256 });
  checker.known("details.source_event.source", details.sourceEvent.source);
  checker.text("details.source_event.platform", details.sourceEvent.platform, { max: 128 });
}

function checkResult(checker: Checker, result: AgentResult | undefined): void {
  if (!result) return;
  checkMessages(checker, "result.messages", result.messages, 0);
  checker.text("result.stop_reason", result.stopReason, { max: 256 });
  checkColumn(checker, "result.error", result.error);
  checker.names("result.permissions_used", result.permissionsUsed);
}

/** Text that becomes a column, which no database keeps with a NUL in it. */
function checkColumn(checker: Checker, field: string, text: string): void {
  checker.text(field, text, textColumn);
  if (text.includes("\0")) checker.wrong(field, "holds a NUL character");
}
