import { loadConfig } from "./config/load-config.js";
import type { Config, NetworkSetting } from "./config/options.js";
import { type EngineOptions, openEngine } from "./engine.js";
import { type Quire, quireOn } from "./in-process/quire.js";
import { createLogger } from "./telemetry/logger.js";

/** The settings of the server that are not about its network. */
export type QuireConfig = Omit<Config, NetworkSetting>;

/**
 * Opens the database (it is made and migrated if need be) and gives the engine on it. Throws a ConfigError for a setting
 * that cannot be used, and a QuireError that says why for a database that cannot be. The environment is not read. What goes wrong in the background is logged, at `warn` unless
 * `logLevel` says otherwise.
 *
 * Servers and engines may share a PostgreSQL database.
 */
export async function createQuire(
  config: Partial<QuireConfig> = {},
  options: EngineOptions = {},
): Promise<Quire> {
  const settings = loadConfig({ env: {}, flags: { logLevel: "warn", ...config } });
  return quireOn(await openEngine(settings, createLogger(settings.logLevel), options));
}

export { ConfigError } from "./config/config-error.js";
export type {
  AgentEvent,
  AssembledContext,
  ContextCandidate,
  Elision,
  HistoryLayer,
  PromptSection,
  Receipt,
  TokenBudget,
} from "./contract/gen/quire/v1/assembly.js";
export {
  BudgetLane,
  ConceptualLayer,
  ElidedContent,
  HistoryReplay,
  PhysicalLayer,
  ToolApproval,
} from "./contract/gen/quire/v1/assembly.js";
export type {
  AssembleResponse,
  ContextRequest,
  HeldContext,
} from "./contract/gen/quire/v1/assembly_service.js";
export type { Capsule, CapsuleBody, LaneShares, Persona } from "./contract/gen/quire/v1/capsule.js";
export { CapsuleCause } from "./contract/gen/quire/v1/capsule.js";
export { BudgetPolicy, type ContextSettings } from "./contract/gen/quire/v1/context_settings.js";
export { HistoryView, OnHeadMoved, TurnScope } from "./contract/gen/quire/v1/ledger_service.js";
export type { Message, Part, ToolCallPart, ToolResultPart } from "./contract/gen/quire/v1/message.js";
export { ApprovalDecision, MessageRole } from "./contract/gen/quire/v1/message.js";
export { AgentRole, EventSource } from "./contract/gen/quire/v1/origin.js";
export type { Session, SessionDefaults } from "./contract/gen/quire/v1/session.js";
export { HeadMoveCause, TaskStatus } from "./contract/gen/quire/v1/session.js";
export {
  SourcePosition,
  type SourceReport,
  type SourceRule,
  SourceState,
} from "./contract/gen/quire/v1/source.js";
export type { ModelCall, TokenUsage, Turn } from "./contract/gen/quire/v1/turn.js";
export { OpenItemKind, TurnStatus } from "./contract/gen/quire/v1/turn.js";
export type {
  CapabilitySnapshot,
  Document,
  Tool,
  Toolset,
  Workspace,
} from "./contract/gen/quire/v1/workspace.js";
export { CapabilityState, DocumentKind, ToolKind } from "./contract/gen/quire/v1/workspace.js";
export type { Clock, Ids } from "./domain/clock.js";
export { type FieldViolation, QuireError } from "./errors/quire-error.js";
export type { Reason } from "./errors/reasons.js";
export type { Call, CallOptions, StreamCall } from "./in-process/bind.js";
export type { Quire } from "./in-process/quire.js";
export type { EmbeddedSide, Embedder } from "./recall/embedders/embedder.js";
export { plainRules, type SourceRules } from "./sources/rules.js";
export type {
  OfferedSource,
  ShownHistory,
  Source,
  SourceAnswer,
  SourceBlock,
  SourceView,
} from "./sources/source.js";
