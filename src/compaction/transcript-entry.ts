import {
  ApprovalDecision,
  type FilePart,
  MessageRole,
  type Part,
  type ToolResultContent,
} from "../domain/message.js";
import type { FoldedTurn } from "./summarizer.js";

/** What one part of a message comes to in a transcript. */
export interface TranscriptEntry {
  /** "User: ", "Tool call ", ... */
  readonly head: string;
  readonly text: string;
}

const LONGEST_TOOL_TEXT = 4_000;

const speakers: Readonly<Record<MessageRole, string>> = {
  [MessageRole.USER]: "User",
  [MessageRole.ASSISTANT]: "Assistant",
  [MessageRole.TOOL]: "Tool",
  [MessageRole.SYSTEM]: "System",
  [MessageRole.UNSPECIFIED]: "Other",
  [MessageRole.UNRECOGNIZED]: "Other",
};

/** The entries of each turn that has some. What answers a call may be in a later turn than the call. */
export function transcriptEntries(turns: readonly FoldedTurn[]): TranscriptEntry[][] {
  const names = new Map<string, string>();
  const answered = new Set<string>();
  for (const { content } of turns.flatMap((turn) => turn.messages).flatMap((message) => message.parts)) {
    if (content?.$case === "toolCall") names.set(content.value.callId, content.value.name);
    if (content?.$case === "toolResult") answered.add(content.value.callId);
    if (content?.$case === "approvalAnswer") answered.add(content.value.approvalId);
  }
  const calls: Calls = {
    nameOf: (callId) => names.get(callId) ?? "",
    openMark: (id) => (answered.has(id) ? "" : ` [open: ${id}]`),
  };
  return turns
    .map((turn) =>
      turn.messages.flatMap(({ parts, role }) =>
        parts.map((part) => entryOf(part, role, calls)).filter((entry) => entry.text !== ""),
      ),
    )
    .filter((entries) => entries.length > 0);
}

interface Calls {
  nameOf(callId: string): string;
  openMark(id: string): string;
}

function entryOf({ content }: Part, role: MessageRole, calls: Calls): TranscriptEntry {
  const head = `${speakers[role]}: `;
  switch (content?.$case) {
    case "text":
      return { head, text: content.value.text.trim() };
    case "image":
      return { head, text: "[image]" };
    case "file":
      return { head, text: fileText(content.value) };
    case "toolCall": {
      const { name, argumentsJson, callId } = content.value;
      const text = `${name}(${clip(argumentsJson, "arguments")})${calls.openMark(callId)}`;
      return { head: "Tool call ", text };
    }
    case "toolResult": {
      const name = calls.nameOf(content.value.callId);
      const what = content.value.isError ? "Tool error" : "Tool result";
      const text = clip(content.value.content.map(resultText).join("\n").trim(), "tool result");
      return { head: name ? `${what} of ${name}: ` : `${what}: `, text: text || "[nothing]" };
    }
    case "approvalRequest": {
      const { prompt, approvalId } = content.value;
      return { head: "Approval asked for: ", text: `${prompt}${calls.openMark(approvalId)}` };
    }
    case "approvalAnswer": {
      const { decision, reason } = content.value;
      const verdict = decision === ApprovalDecision.APPROVED ? "approved" : "denied";
      return { head: "Approval ", text: reason ? `${verdict}: ${reason}` : verdict };
    }
    default:
      return { head, text: "" };
  }
}

function fileText({ name, mediaType }: FilePart): string {
  return `[file ${name || mediaType || "without a name"}]`;
}

function resultText({ content }: ToolResultContent): string {
  switch (content?.$case) {
    case "text":
      return content.value.text;
    case "image":
      return "[image]";
    case "file":
      return fileText(content.value);
    default:
      return "";
  }
}

/** Beginning and end of a long text, and between them how much of what was left out. */
function clip(text: string, what: string): string {
  if (text.length <= LONGEST_TOOL_TEXT) return text;
  const beginning = text.slice(0, cutPoint(text, Math.floor(LONGEST_TOOL_TEXT * 0.7)));
  const end = text.slice(cutPoint(text, text.length - Math.floor(LONGEST_TOOL_TEXT * 0.3)));
  const left = text.length - beginning.length - end.length;
  return `${beginning} [... ${left} characters of the ${what} left out ...] ${end}`;
}

/** How far around a wanted length white space is looked for. */
const NEARBY = 200;

/** Where to cut at a length or a little before: after white space if there is some, never inside a surrogate pair. */
export function cutPoint(text: string, length: number): number {
  const least = Math.max(1, length - NEARBY, Math.floor(length * 0.8));
  for (let at = length; at > least; at--) if (/\s/.test(text[at - 1]!)) return at;
  return /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(length - 1, length + 1)) ? length - 1 : length;
}
