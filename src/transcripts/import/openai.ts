import { MessageRole, type Part } from "../../contract/gen/quire/v1/message.js";
import { TokenUsage } from "../../contract/gen/quire/v1/turn.js";
import { Findings } from "../findings.js";
import { thinking, toolCall, toolResult } from "./content.js";
import { type Conversation, findConversations, metadataOf } from "./conversations.js";
import { countAt, isObject, type JsonObject, listAt, objectAt, textAt } from "./json.js";
import { numberedLabel } from "./label.js";
import { shortMetadata } from "./metadata.js";
import { openaiParts, openaiResultPieces, openaiSystemParts } from "./openai-content.js";
import { planTurns } from "./plan-turns.js";
import { readJsonOrLines } from "./read-json.js";
import type { Importer, PlannedSession, TranscriptMessage } from "./transcript.js";

/**
 * OpenAI chat messages: a list of messages, `{ "messages": [...] }`, JSON Lines of either, or a list of conversations or
 * trajectories (`traj`), each of which becomes a session.
 */
export const importOpenai: Importer = (fileText, { label }) => {
  const findings = new Findings();
  const conversations = findConversations(readJsonOrLines(fileText, findings));
  const sessions = conversations.map((conversation, index) =>
    planSession(conversation, numberedLabel(label, index, conversations.length), findings),
  );
  return { sessions, findings: findings.list() };
};

function planSession(conversation: Conversation, label: string, findings: Findings): PlannedSession {
  const { body } = conversation;
  const messages = conversation.messages.flatMap((message, index) =>
    readChatMessage(message, `${label}, message ${index + 1}`, findings),
  );
  const model = textAt(body, "model");
  const usage = readUsage(objectAt(body, "usage"));
  const answer = messages.findLastIndex(({ role }) => role === MessageRole.ASSISTANT);
  const complete = messages.map((message, index) => ({
    ...message,
    ...(message.role === MessageRole.ASSISTANT && model ? { model } : {}),
    ...(index === answer && usage ? { usage } : {}),
  }));
  return {
    label,
    workspacePath: "",
    metadata: shortMetadata(metadataOf(body, ["model", "usage"], findings), findings),
    turns: planTurns(complete, findings),
  };
}

/** A message of the chat form; several where it holds more, none where it is no message. */
export function readChatMessage(
  message: unknown,
  where: string,
  findings: Findings,
): readonly TranscriptMessage[] {
  if (!isObject(message)) {
    findings.add("entries that are no messages, left out", where);
    return [];
  }
  const { content } = message;
  switch (message.role) {
    case "system":
    case "developer":
      return [{ role: MessageRole.SYSTEM, parts: openaiSystemParts(content, where, findings), where }];
    case "user":
      if (textAt(message, "name")) findings.add("names of participants, left out", where);
      return [{ role: MessageRole.USER, parts: openaiParts(content, where, findings), where }];
    case "assistant":
      return [{ role: MessageRole.ASSISTANT, parts: assistantParts(message, where, findings), where }];
    case "tool":
    case "function": {
      const pieces = openaiResultPieces(content, where, findings).map((piece) => ({ content: piece }));
      return [
        { role: MessageRole.TOOL, parts: [toolResult(textAt(message, "tool_call_id"), pieces)], where },
      ];
    }
    default:
      findings.add(`messages of the unknown role ${JSON.stringify(message.role)}, left out`, where);
      return [];
  }
}

function assistantParts(message: JsonObject, where: string, findings: Findings): readonly Part[] {
  const reasoning = textAt(message, "reasoning_content") || textAt(message, "reasoning");
  const refusal = textAt(message, "refusal");
  if (isObject(message.audio)) findings.add("audio, left out", where);
  const calls = listAt(message, "tool_calls").flatMap((call) => readCall(call, where, findings));
  const legacy = objectAt(message, "function_call");
  return [
    ...(reasoning ? [thinking(reasoning, "", "")] : []),
    ...openaiParts(message.content, where, findings),
    ...openaiParts(refusal, where, findings),
    ...calls,
    // Calls of this form have no id; neither has the result, so the two find each other.
    ...(legacy ? [toolCall("", textAt(legacy, "name") || "function", textAt(legacy, "arguments"))] : []),
  ];
}

function readCall(call: unknown, where: string, findings: Findings): readonly Part[] {
  const body = isObject(call) ? (objectAt(call, "function") ?? objectAt(call, "custom")) : undefined;
  if (!isObject(call) || !body) {
    findings.add("tool calls without a function, left out", where);
    return [];
  }
  const given = body.arguments ?? body.input ?? "";
  const argumentsJson = typeof given === "string" ? given : JSON.stringify(given);
  return [toolCall(textAt(call, "id"), textAt(body, "name") || "function", argumentsJson)];
}

function readUsage(usage: JsonObject | undefined): TokenUsage | undefined {
  if (!usage) return undefined;
  return TokenUsage.fromPartial({
    inputTokens: countAt(usage, "prompt_tokens"),
    outputTokens: countAt(usage, "completion_tokens"),
    cachedInputTokens: countAt(objectAt(usage, "prompt_tokens_details"), "cached_tokens"),
    reasoningTokens: countAt(objectAt(usage, "completion_tokens_details"), "reasoning_tokens"),
  });
}
