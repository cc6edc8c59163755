import { MessageRole, type Part, type ToolResultPart } from "../../contract/gen/quire/v1/message.js";
import type { Findings } from "../findings.js";
import { text } from "./content.js";
import type { TranscriptMessage } from "./transcript.js";

/** The index of the message whose call a result answers, for each result part; no entry for an orphan. */
type Answers = ReadonlyMap<Part, number>;

/**
 * Puts every tool result directly behind the message that made its call, because nothing else may stand between
 * them in the ledger. A result that answers no call becomes a marked USER message.
 */
export function pairResults(
  messages: readonly TranscriptMessage[],
  findings: Findings,
): readonly TranscriptMessage[] {
  const answers = matchResults(messages);
  const late = lateResults(messages, answers);
  const paired: TranscriptMessage[] = [];
  const orphans: TranscriptMessage[] = [];
  let caller = -1;
  const closeBlock = () => {
    const moved = late.get(caller) ?? [];
    const first = moved[0];
    if (first) {
      findings.add(
        "tool results that came late, moved behind their calls",
        first.message.where,
        moved.length,
      );
      paired.push({ ...first.message, parts: moved.map(({ part }) => part) });
    }
    paired.push(...orphans.splice(0));
  };
  for (const [index, message] of messages.entries()) {
    if (message.role !== MessageRole.TOOL) {
      closeBlock();
      caller = index;
      paired.push(message);
      continue;
    }
    const parts = message.parts.filter((part) => answers.get(part) === caller);
    if (parts.length > 0) paired.push({ ...message, parts });
    orphans.push(...orphanMessages(message, answers, findings));
  }
  closeBlock();
  return paired;
}

function matchResults(messages: readonly TranscriptMessage[]): Answers {
  const open = new Map<string, number[]>();
  const answers = new Map<Part, number>();
  for (const [index, message] of messages.entries()) {
    for (const part of message.parts) {
      if (part.content?.$case === "toolCall") {
        const { callId } = part.content.value;
        open.set(callId, [...(open.get(callId) ?? []), index]);
      } else if (part.content?.$case === "toolResult") {
        // The latest message with such a call: ids may be used again after a call that was never answered.
        const caller = open.get(part.content.value.callId)?.pop();
        if (caller !== undefined) answers.set(part, caller);
      }
    }
  }
  return answers;
}

interface LateResult {
  readonly part: Part;
  readonly message: TranscriptMessage;
}

/** The results that other messages keep apart from their calls, by the index of the calling message. */
function lateResults(
  messages: readonly TranscriptMessage[],
  answers: Answers,
): ReadonlyMap<number, LateResult[]> {
  const late = new Map<number, LateResult[]>();
  let caller = -1;
  for (const [index, message] of messages.entries()) {
    if (message.role !== MessageRole.TOOL) {
      caller = index;
      continue;
    }
    for (const part of message.parts) {
      const answered = answers.get(part);
      if (answered === undefined || answered === caller) continue;
      late.set(answered, [...(late.get(answered) ?? []), { part, message }]);
    }
  }
  return late;
}

function orphanMessages(
  message: TranscriptMessage,
  answers: Answers,
  findings: Findings,
): readonly TranscriptMessage[] {
  return message.parts.flatMap((part) => {
    if (part.content?.$case !== "toolResult" || answers.has(part)) return [];
    findings.add("tool results that answer no open call, kept as marked USER messages", message.where);
    return [{ ...message, role: MessageRole.USER, parts: markedResult(part.content.value) }];
  });
}

function markedResult(result: ToolResultPart): readonly Part[] {
  const mark = `[${result.isError ? "failed tool result" : "tool result"} without a call: ${result.callId || "no id"}]`;
  return [text(mark), ...result.content.map(({ content }): Part => ({ content }))];
}
