import type { HistoryLayer } from "../../contract/gen/quire/v1/assembly.js";
import type { AssemblyResolved } from "../../contract/gen/quire/v1/assembly_service.js";
import type { Message } from "../../contract/gen/quire/v1/message.js";
import { messageText } from "../terminal/message-text.js";
import { counted } from "../terminal/printable.js";
import { word } from "./lines.js";

/** The model, and how it is to be called. */
export function modelText({ model, provider, modelConfig }: AssemblyResolved): string {
  const name = [model || "no model", provider && `of ${provider}`].filter(Boolean).join(" ");
  if (!modelConfig) return name;
  const approval = word(modelConfig.toolApproval, "TOOL_APPROVAL_");
  const tools = approval === "none" ? "no" : approval;
  const { temperature } = modelConfig;
  const facts = modelConfig.assumed.map((fact) => word(fact, "MODEL_FACT_"));
  const assumed = facts.length > 0 ? `, assumed: ${facts.join(", ")}` : "";
  const warmth = temperature === undefined ? "" : `, temperature ${temperature}`;
  return `${name}${warmth}, approval for ${tools} tools${assumed}`;
}

/** What there is of the history, and what is missing. */
export function historyText(layer: HistoryLayer): string {
  const { turns, droppedTurns, tokens, splitMessageIndex, elisionCount, activeTurnId } = layer;
  const facts = [`${counted(tokens, "token")}, ${counted(turns, "turn")}`];
  if (layer.compactionId) facts.push(`a summary of ${counted(layer.summarizedTurns, "turn")} before them`);
  if (activeTurnId) facts.push("the last of them still open");
  if (splitMessageIndex > 0) facts.push(`the first of them only from message ${splitMessageIndex} on`);
  if (elisionCount > 0) facts.push(`${counted(elisionCount, "part")} shortened`);
  const older = `${counted(droppedTurns, "older turn")} left out`;
  return [...facts, droppedTurns > 0 ? older : "no turn left out"].join(", ");
}

/** What was said, without who speaks and without the context before it. */
export function contentText(message: Message): string {
  const text = messageText({ ...message, contextParts: [] });
  return text.slice(text.indexOf("\n") + 1);
}
