import { loadConfig } from "./config/load-config.js";
import type { Config } from "./config/options.js";
import type { AssemblyServiceServer } from "./contract/gen/quire/v1/assembly_service.js";
import type { CapsuleServiceServer } from "./contract/gen/quire/v1/capsule_service.js";
import type { LedgerServiceServer } from "./contract/gen/quire/v1/ledger_service.js";
import type { WorkspaceServiceServer } from "./contract/gen/quire/v1/workspace_service.js";
import { type EngineOptions, openEngine } from "./engine.js";
import { bind, type CallsOf } from "./in-process/bind.js";
import { Calls } from "./in-process/calls.js";
import { assemblyHandlers, assemblyService } from "./server/handlers/assembly.js";
import { capsuleHandlers, capsuleService } from "./server/handlers/capsule.js";
import { ledgerHandlers, ledgerService } from "./server/handlers/ledger.js";
import { workspaceHandlers, workspaceService } from "./server/handlers/workspace.js";
import { createLogger } from "./telemetry/logger.js";

/** The settings of the server that are not about its network. */
export type QuireConfig = Omit<
  Config,
  "listen" | "tlsCertificate" | "tlsKey" | "allowInsecure" | "maxRequestBytes" | "shutdownGraceMs"
>;

/**
 * The engine in this process: what the server serves, without a network hop.
 *
 * - A method takes the request of its RPC, with only the fields that matter, and gives the RPC's response.
 * - It checks and does what the RPC does. What fails is a `QuireError` with `reason`, `violations` and `metadata`.
 * - Its second argument is `{ signal }`: `AbortSignal.timeout(ms)` is a deadline.
 */
export interface Quire {
  /** Sessions, turns and their messages. */
  readonly ledger: CallsOf<LedgerServiceServer>;
  /** Agents' definitions, and what they learn. */
  readonly capsules: CallsOf<CapsuleServiceServer>;
  /** Documents, capabilities and toolsets. */
  readonly workspaces: CallsOf<WorkspaceServiceServer>;
  /** Contexts: layer by layer or at once, their receipts, and token counts. */
  readonly assembly: CallsOf<AssemblyServiceServer>;
  /** Takes no more calls, ends the streams, waits for what is being written, and closes the database. */
  close(): Promise<void>;
}

/**
 * Opens the database (it is made and migrated if need be) and gives the engine on it. Throws a ConfigError for a setting
 * that cannot be used. The environment is not read. What goes wrong in the background is logged, at `warn` unless
 * `logLevel` says otherwise.
 *
 * Servers and engines may share a PostgreSQL database.
 */
export async function createQuire(
  config: Partial<QuireConfig> = {},
  options: EngineOptions = {},
): Promise<Quire> {
  const settings = loadConfig({ env: {}, flags: { logLevel: "warn", ...config } });
  const engine = await openEngine(settings, createLogger(settings.logLevel), options);
  const calls = new Calls();
  let closed: Promise<void> | undefined;
  return {
    ledger: bind(calls, ledgerService, ledgerHandlers(engine.ledger, engine.assembly)),
    capsules: bind(calls, capsuleService, capsuleHandlers(engine.capsules)),
    workspaces: bind(calls, workspaceService, workspaceHandlers(engine.workspaces)),
    assembly: bind(calls, assemblyService, assemblyHandlers(engine.assembly)),
    close() {
      closed ??= calls.close().then(() => engine.close());
      return closed;
    },
  };
}

export { ConfigError } from "./config/load-config.js";
export type {
  AgentEvent,
  AssembledContext,
  ContextCandidate,
  HistoryLayer,
  PromptSection,
  Receipt,
  TokenBudget,
} from "./contract/gen/quire/v1/assembly.js";
export {
  BudgetLane,
  ConceptualLayer,
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
export type { Turn } from "./contract/gen/quire/v1/turn.js";
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
