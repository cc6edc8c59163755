import {
  ApprovalDecision,
  Message,
  MessageRole,
  type Part,
} from "../../src/contract/gen/quire/v1/message.js";

/** Parts and messages that the short forms in support/ do not have. */

export function textPart(text: string): Part {
  return { content: { $case: "text", value: { text } } };
}

export function callPart(callId: string): Part {
  return {
    content: { $case: "toolCall", value: { callId, name: "search", argumentsJson: "{}", signature: "" } },
  };
}

export function resultPart(callId: string): Part {
  const content = [{ content: { $case: "text" as const, value: { text: `result of ${callId}` } } }];
  return { content: { $case: "toolResult", value: { callId, content, isError: false } } };
}

export function approvalPart(approvalId: string, callId = ""): Part {
  return { content: { $case: "approvalRequest", value: { approvalId, callId, prompt: "may I?" } } };
}

export function decisionPart(
  approvalId: string,
  decision: ApprovalDecision = ApprovalDecision.APPROVED,
): Part {
  return { content: { $case: "approvalAnswer", value: { approvalId, decision, reason: "" } } };
}

export const onePartOfEach: readonly Part[] = [
  textPart("text"),
  { content: { $case: "thinking", value: { text: "hm", signature: "sig", provider: "anthropic" } } },
  callPart("each"),
  resultPart("each"),
  approvalPart("each"),
  decisionPart("each"),
  {
    content: {
      $case: "image",
      value: { source: { $case: "uri", value: "https://example.com/a.png" }, mediaType: "" },
    },
  },
  {
    content: {
      $case: "file",
      value: {
        source: { $case: "data", value: Buffer.from("%PDF") },
        mediaType: "application/pdf",
        name: "a.pdf",
      },
    },
  },
  { content: { $case: "opaque", value: { provider: "openai", kind: "reasoning", data: Buffer.from("x") } } },
];

export function said(role: MessageRole, ...parts: readonly Part[]): Message {
  return Message.create({ role, parts: [...parts] });
}

export const asksFor = (...parts: readonly Part[]): Message => said(MessageRole.ASSISTANT, ...parts);
export const decides = (...approvalIds: readonly string[]): Message =>
  said(MessageRole.USER, ...approvalIds.map((id) => decisionPart(id)));
