import { AgentRole } from "./agent-role.js";
import type { EventSource } from "./event-source.js";
import type { Message, RefusalPart, ToolCallPart, ToolResultPart } from "./message.js";

export const TurnStatus = {
  UNSPECIFIED: "TURN_STATUS_UNSPECIFIED",
  OPEN: "TURN_STATUS_OPEN",
  COMPLETED: "TURN_STATUS_COMPLETED",
  AWAITING: "TURN_STATUS_AWAITING",
  FAILED: "TURN_STATUS_FAILED",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type TurnStatus = (typeof TurnStatus)[keyof typeof TurnStatus];

export const OpenItemKind = {
  UNSPECIFIED: "OPEN_ITEM_KIND_UNSPECIFIED",
  TOOL_CALL: "OPEN_ITEM_KIND_TOOL_CALL",
  APPROVAL: "OPEN_ITEM_KIND_APPROVAL",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type OpenItemKind = (typeof OpenItemKind)[keyof typeof OpenItemKind];

/** A call or an approval that waits for an answer. */
export interface OpenItem {
  readonly kind: OpenItemKind;
  readonly id: string;
}

export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
}

/** A request to a model and what it cost; or several of them, reported as one. */
export interface ModelCall {
  readonly usage: TokenUsage | undefined;
  readonly model: string;
  readonly provider: string;
  readonly assemblyId?: string | undefined;
  readonly createTime: Date | undefined;
}

export interface SourceEvent {
  readonly id: string;
  readonly source: EventSource;
  readonly platform: string;
}

/** What the caller says about a turn when it begins. */
export interface TurnDetails {
  readonly agentRole: AgentRole;
  readonly model: string;
  readonly provider: string;
  readonly toolset: string;
  readonly permissionsGranted: readonly string[];
  readonly sourceEvent: SourceEvent | undefined;
  readonly workspacePath: string;
  readonly metadata: { [key: string]: string };
}

export const emptyTurnDetails: TurnDetails = {
  agentRole: AgentRole.UNSPECIFIED,
  model: "",
  provider: "",
  toolset: "",
  permissionsGranted: [],
  sourceEvent: undefined,
  workspacePath: "",
  metadata: {},
};

/** One exchange, without its messages. */
export interface Turn {
  readonly id: string;
  readonly sessionId: string;
  readonly parentTurnId: string;
  readonly status: TurnStatus;
  readonly depth: number;
  readonly details: TurnDetails | undefined;
  readonly permissionsUsed: readonly string[];
  readonly usage: TokenUsage | undefined;
  readonly stopReason: string;
  readonly error: string;
  readonly messageCount: number;
  readonly o200kTokens: number;
  readonly contextO200kTokens: number;
  readonly openItems: readonly OpenItem[];
  readonly abandonedItems: readonly OpenItem[];
  readonly contentHash: Buffer;
  readonly chainHash: Buffer;
  readonly createTime: Date | undefined;
  readonly completeTime: Date | undefined;
  readonly assemblyId: string;
  readonly modelCallCount: number;
  readonly modelCalls: readonly ModelCall[];
  readonly interruptedByTurnId: string;
}

/** What was read from a provider's response. */
export interface ReadAnswer {
  readonly text: string;
  readonly toolCalls: readonly ToolCallPart[];
  readonly stopReason: string;
  readonly usage: TokenUsage | undefined;
  readonly refusal: RefusalPart | undefined;
  readonly model: string;
}

export interface ToolInvocation {
  readonly call: ToolCallPart | undefined;
  readonly result: ToolResultPart | undefined;
}

/** What an agent engine returns for a turn. */
export interface AgentResult {
  readonly messages: readonly Message[];
  readonly calls: readonly ToolInvocation[];
  readonly usage: TokenUsage | undefined;
  readonly stopReason: string;
  readonly error: string;
  readonly permissionsUsed: readonly string[];
  readonly modelCalls: readonly ModelCall[];
}

export const emptyResult: AgentResult = {
  messages: [],
  calls: [],
  usage: undefined,
  stopReason: "",
  error: "",
  permissionsUsed: [],
  modelCalls: [],
};
