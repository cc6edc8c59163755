import { MessageRole } from "../../contract/gen/quire/v1/message.js";
import type { Findings } from "../findings.js";
import { text } from "./content.js";
import type { TranscriptMessage } from "./transcript.js";

/**
 * SYSTEM messages stand only at the start of a turn. One that a USER message follows starts a turn; one in the midst
 * of an answer, or at the end, stays where it is as a marked USER message.
 */
export function placeSystem(
  messages: readonly TranscriptMessage[],
  findings: Findings,
): readonly TranscriptMessage[] {
  const opening = messages.findIndex(({ role }) => role !== MessageRole.SYSTEM);
  return messages.map((message, index) => {
    if (message.role !== MessageRole.SYSTEM || (opening >= 0 && index < opening)) return message;
    const next = messages.slice(index + 1).find(({ role }) => role !== MessageRole.SYSTEM);
    if (next?.role === MessageRole.USER) return message;
    findings.add("system messages that start no turn, kept as marked USER messages", message.where);
    return { ...message, role: MessageRole.USER, parts: [text("[system message]"), ...message.parts] };
  });
}
