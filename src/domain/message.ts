import type { InjectedContext } from "./injected-context.js";

/**
 * The content of a conversation. These types have the shape of the contract's messages, so that the codec beside
 * the ledger needs no translation; the compiler checks that they stay so.
 */

export const MessageRole = {
  UNSPECIFIED: "MESSAGE_ROLE_UNSPECIFIED",
  SYSTEM: "MESSAGE_ROLE_SYSTEM",
  USER: "MESSAGE_ROLE_USER",
  ASSISTANT: "MESSAGE_ROLE_ASSISTANT",
  TOOL: "MESSAGE_ROLE_TOOL",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type MessageRole = (typeof MessageRole)[keyof typeof MessageRole];

export const ApprovalDecision = {
  UNSPECIFIED: "APPROVAL_DECISION_UNSPECIFIED",
  APPROVED: "APPROVAL_DECISION_APPROVED",
  DENIED: "APPROVAL_DECISION_DENIED",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type ApprovalDecision = (typeof ApprovalDecision)[keyof typeof ApprovalDecision];

/** What of a message a context may leave out. */
export const ElidedContent = {
  UNSPECIFIED: "ELIDED_CONTENT_UNSPECIFIED",
  TOOL_RESULT: "ELIDED_CONTENT_TOOL_RESULT",
  TOOL_ARGUMENTS: "ELIDED_CONTENT_TOOL_ARGUMENTS",
  TEXT: "ELIDED_CONTENT_TEXT",
  THINKING: "ELIDED_CONTENT_THINKING",
  ATTACHMENT: "ELIDED_CONTENT_ATTACHMENT",
  CONTEXT: "ELIDED_CONTENT_CONTEXT",
  TOOL_CALL: "ELIDED_CONTENT_TOOL_CALL",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type ElidedContent = (typeof ElidedContent)[keyof typeof ElidedContent];

export interface TextPart {
  readonly text: string;
}

export interface ThinkingPart {
  readonly text: string;
  readonly signature: string;
  readonly provider: string;
}

export interface ToolCallPart {
  readonly callId: string;
  readonly name: string;
  readonly argumentsJson: string;
  readonly signature: string;
}

export type ByteSource =
  | { readonly $case: "uri"; readonly value: string }
  | { readonly $case: "data"; readonly value: Buffer };

export interface ImagePart {
  readonly source: ByteSource | undefined;
  readonly mediaType: string;
}

export interface FilePart {
  readonly source: ByteSource | undefined;
  readonly mediaType: string;
  readonly name: string;
}

export interface ToolResultContent {
  readonly content:
    | { readonly $case: "text"; readonly value: TextPart }
    | { readonly $case: "image"; readonly value: ImagePart }
    | { readonly $case: "file"; readonly value: FilePart }
    | undefined;
}

export interface ToolResultPart {
  readonly callId: string;
  readonly content: readonly ToolResultContent[];
  readonly isError: boolean;
}

export interface ApprovalRequestPart {
  readonly approvalId: string;
  readonly callId: string;
  readonly prompt: string;
}

export interface ApprovalAnswerPart {
  readonly approvalId: string;
  readonly decision: ApprovalDecision;
  readonly reason: string;
}

export interface OpaquePart {
  readonly provider: string;
  readonly kind: string;
  readonly data: Buffer;
}

export interface RefusalPart {
  readonly text: string;
  readonly reason: string;
  readonly provider: string;
}

export type PartContent =
  | { readonly $case: "text"; readonly value: TextPart }
  | { readonly $case: "thinking"; readonly value: ThinkingPart }
  | { readonly $case: "toolCall"; readonly value: ToolCallPart }
  | { readonly $case: "toolResult"; readonly value: ToolResultPart }
  | { readonly $case: "approvalRequest"; readonly value: ApprovalRequestPart }
  | { readonly $case: "approvalAnswer"; readonly value: ApprovalAnswerPart }
  | { readonly $case: "image"; readonly value: ImagePart }
  | { readonly $case: "file"; readonly value: FilePart }
  | { readonly $case: "opaque"; readonly value: OpaquePart }
  | { readonly $case: "refusal"; readonly value: RefusalPart };

export interface Part {
  readonly content: PartContent | undefined;
  /** Whose model made it, and what that provider said of it besides, as JSON. */
  readonly provider?: string | undefined;
  readonly providerJson?: string | undefined;
}

export interface Message {
  readonly id: string;
  readonly turnId: string;
  readonly index: number;
  readonly role: MessageRole;
  readonly parts: readonly Part[];
  readonly contextParts: readonly Part[];
  readonly contextJson: string;
  readonly o200kTokens: number;
  readonly contextO200kTokens: number;
  readonly createTime: Date | undefined;
  readonly injected: InjectedContext | undefined;
  /** Whether the model was asked for it directly after an answer of its own. */
  readonly prompted: boolean;
}

export const emptyMessage: Message = {
  id: "",
  turnId: "",
  index: 0,
  role: MessageRole.UNSPECIFIED,
  parts: [],
  contextParts: [],
  contextJson: "",
  o200kTokens: 0,
  contextO200kTokens: 0,
  createTime: undefined,
  injected: undefined,
  prompted: false,
};

export function textPart(text: string): {
  readonly content: { readonly $case: "text"; readonly value: TextPart };
} {
  return { content: { $case: "text", value: { text } } };
}
