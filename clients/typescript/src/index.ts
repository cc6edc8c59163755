export { Agent, type AgentOptions, type TurnOptions, type TurnOutcome, text, Worker } from "./agent.js";
export { type ConnectOptions, connect, type Quire, services } from "./connect.js";
export { type AssembleOptions, Contexts, type FoldedContext, fold, heldOf } from "./contexts.js";
export type { AssembledContext } from "./gen/quire/v1/assembly.js";
export type { AssembleResponse, ContextRequest } from "./gen/quire/v1/assembly_service.js";
export { OnBusy, OnHeadMoved } from "./gen/quire/v1/ledger_service.js";
export {
  type DeepPartial,
  type Message,
  MessageRole,
  type Part,
  type ToolCallPart,
} from "./gen/quire/v1/message.js";
export { BodyFormat } from "./gen/quire/v1/rendering.js";
export { type Session, TaskStatus } from "./gen/quire/v1/session.js";
export { type Turn, TurnStatus } from "./gen/quire/v1/turn.js";
export { LeasedTurn, type LeaseOptions, type Timers } from "./leased-turn.js";
export {
  anthropic,
  gemini,
  type HttpModelOptions,
  type Model,
  type ModelRequest,
  openai,
  openaiChat,
  ProviderError,
} from "./model.js";
export { QuireError } from "./quire-error.js";
export type { CallOptions } from "./service.js";
export { type Tool, type ToolAnswer, type ToolCall, workerTool } from "./tool.js";
