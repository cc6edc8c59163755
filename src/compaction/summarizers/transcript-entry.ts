import {
  ApprovalDecision,
  type FilePart,
  MessageRole,
  type Part,
  type ToolResultContent,
} from "../../domain/message.js";
import { fill, type PromptTexts } from "../../domain/prompt-texts.js";
import type { FoldedTurn } from "../plan/summary-task.js";

/** What one part of a message comes to in a transcript. */
export interface TranscriptEntry {
  /** Who speaks, or what it is: "User", "Tool call", ... */
  readonly speaker: string;
  /** What stands between that and the text. */
  readonly joint: ": " | " ";
  readonly text: string;
  /** Whether it goes on with what an entry before began. */
  readonly isContinued?: boolean;
}

const longestToolText = 4_000;

/** The entries of each turn that has some. What answers a call may be in a later turn than the call. */
export function transcriptEntries(turns: readonly FoldedTurn[], texts: PromptTexts): TranscriptEntry[][] {
  const names = new Map<string, string>();
  const answered = new Set<string>();
  for (const { content } of turns.flatMap((turn) => turn.messages).flatMap((message) => message.parts)) {
    if (content?.$case === "toolCall") names.set(content.value.callId, content.value.name);
    if (content?.$case === "toolResult") answered.add(content.value.callId);
    if (content?.$case === "approvalAnswer") answered.add(content.value.approvalId);
  }
  const calls: Calls = {
    nameOf: (callId) => names.get(callId) ?? "",
    openMark: (id) => (answered.has(id) ? "" : ` ${fill(texts["transcript-open"], { id })}`),
  };
  return turns
    .map((turn) =>
      turn.messages.flatMap(({ parts, role }) =>
        parts.map((part) => entryOf(part, role, calls, texts)).filter((entry) => entry.text !== ""),
      ),
    )
    .filter((entries) => entries.length > 0);
}

interface Calls {
  nameOf(callId: string): string;
  openMark(id: string): string;
}

function entryOf({ content }: Part, role: MessageRole, calls: Calls, texts: PromptTexts): TranscriptEntry {
  const speaker = texts[role === MessageRole.USER ? "transcript-user" : "transcript-assistant"];
  const said = (text: string): TranscriptEntry => ({ speaker, joint: ": ", text });
  switch (content?.$case) {
    case "text":
      return said(content.value.text.trim());
    case "image":
      return said(texts["body-image"]);
    case "file":
      return said(fileText(texts, content.value));
    case "toolCall": {
      const { name, argumentsJson, callId } = content.value;
      const shown = clip(argumentsJson, texts["transcript-arguments-left-out"]);
      const text = `${name}(${shown})${calls.openMark(callId)}`;
      return { speaker: texts["transcript-call"], joint: " ", text };
    }
    case "toolResult": {
      const { callId, isError, content: pieces } = content.value;
      const name = calls.nameOf(callId);
      const what = isError ? "transcript-error" : "transcript-result";
      const given = pieces.map((piece) => resultText(texts, piece)).join("\n");
      const text = clip(given.trim(), texts["transcript-result-left-out"]);
      return {
        speaker: name ? fill(texts[`${what}-of`], { name }) : texts[what],
        joint: ": ",
        text: text || texts["body-no-output"],
      };
    }
    case "approvalRequest": {
      const { prompt, approvalId } = content.value;
      const text = `${prompt}${calls.openMark(approvalId)}`;
      return { speaker: texts["transcript-approval-asked"], joint: ": ", text };
    }
    case "approvalAnswer": {
      const { decision, reason } = content.value;
      const verdict = texts[decision === ApprovalDecision.APPROVED ? "body-approved" : "body-denied"];
      const text = reason ? `${verdict}: ${reason}` : verdict;
      return { speaker: texts["transcript-approval"], joint: " ", text };
    }
    default:
      return said("");
  }
}

function fileText(texts: PromptTexts, { name, mediaType }: FilePart): string {
  const facts = name || mediaType;
  return facts ? fill(texts["body-file-facts"], { facts }) : texts["body-file"];
}

function resultText(texts: PromptTexts, { content }: ToolResultContent): string {
  switch (content?.$case) {
    case "text":
      return content.value.text;
    case "image":
      return texts["body-image"];
    case "file":
      return fileText(texts, content.value);
    default:
      return "";
  }
}

/** Beginning and end of a long text, and between them how much was left out. */
function clip(text: string, leftOut: string): string {
  if (text.length <= longestToolText) return text;
  const beginning = text.slice(0, cutPoint(text, Math.floor(longestToolText * 0.7)));
  const end = text.slice(cutPoint(text, text.length - Math.floor(longestToolText * 0.3)));
  const left = text.length - beginning.length - end.length;
  return `${beginning} ${fill(leftOut, { count: left })} ${end}`;
}

/** How far around a wanted length white space is looked for. */
const nearby = 200;

/** Where to cut at a length or a little before: after white space if there is some, never inside a surrogate pair. */
export function cutPoint(text: string, length: number): number {
  const least = Math.max(1, length - nearby, Math.floor(length * 0.8));
  for (let at = length; at > least; at--) if (/\s/.test(text[at - 1]!)) return at;
  return /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(length - 1, length + 1)) ? length - 1 : length;
}
