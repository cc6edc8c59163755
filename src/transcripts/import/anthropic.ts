import { MessageRole } from "../../contract/gen/quire/v1/message.js";
import { Findings } from "../findings.js";
import { anthropicUsage } from "./anthropic-content.js";
import { anthropicMessage } from "./anthropic-message.js";
import { type Conversation, findConversations, metadataOf } from "./conversations.js";
import { objectAt, textAt } from "./json.js";
import { numberedLabel } from "./label.js";
import { shortMetadata } from "./metadata.js";
import { planTurns } from "./plan-turns.js";
import { readJsonOrLines } from "./read-json.js";
import type { Importer, PlannedSession } from "./transcript.js";

/**
 * Anthropic messages: a list of messages, a request body `{ "system", "messages" }`, JSON Lines of either, or a list of
 * bodies, each of which becomes a session.
 */
export const importAnthropic: Importer = (fileText, { label }) => {
  const findings = new Findings();
  const conversations = findConversations(readJsonOrLines(fileText, findings));
  const sessions = conversations.map((conversation, index) =>
    planSession(conversation, numberedLabel(label, index, conversations.length), findings),
  );
  return { sessions, findings: findings.list() };
};

function planSession({ messages, body }: Conversation, label: string, findings: Findings): PlannedSession {
  const system = body.system
    ? anthropicMessage({ role: "system", content: body.system }, `${label}, system`, findings)
    : [];
  const read = messages.flatMap((message, index) =>
    anthropicMessage(message, `${label}, message ${index + 1}`, findings),
  );
  const model = textAt(body, "model");
  const usage = anthropicUsage(objectAt(body, "usage"));
  const answer = read.findLastIndex(({ role }) => role === MessageRole.ASSISTANT);
  const complete = read.map((message, index) => ({
    ...message,
    ...(message.role === MessageRole.ASSISTANT && !message.model ? { model } : {}),
    ...(index === answer && usage ? { usage } : {}),
  }));
  return {
    label,
    workspacePath: "",
    metadata: shortMetadata(metadataOf(body, ["system", "model", "usage"], findings), findings),
    turns: planTurns([...system, ...complete], findings),
  };
}
