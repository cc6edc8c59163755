import { MessageRole, type Part } from "../../contract/gen/quire/v1/message.js";
import type { Findings } from "../findings.js";
import { allowedParts } from "./allowed-parts.js";
import { CallIds } from "./call-ids.js";
import { text } from "./content.js";
import { pairResults } from "./pair-results.js";
import { placeSystem } from "./place-system.js";
import type { TranscriptMessage } from "./transcript.js";

/** A turn's messages in an order that the ledger takes. */
export interface TranscriptTurn {
  readonly messages: readonly TranscriptMessage[];
  /** It ends with calls that the transcript never answers. */
  readonly awaiting: boolean;
  /** It leaves the calls of the turn before it unanswered for good. */
  readonly abandonsOpenItems: boolean;
}

export const openerText = "[conversation opened by the assistant]";

/**
 * Cuts a conversation into turns: [system*] user+, then assistant and tool messages until the next user message. A call
 * that is never answered ends its turn there, and the next turn abandons it.
 */
export function splitTurns(
  messages: readonly TranscriptMessage[],
  findings: Findings,
): readonly TranscriptTurn[] {
  const turns: TranscriptTurn[] = [];
  let current = new OpenTurn(false);
  const finish = () => {
    if (current.messages.length === 0) return;
    const awaiting = current.calls.open > 0;
    if (awaiting) {
      findings.add(
        "tool calls that were never answered, kept open",
        current.messages.at(-1)?.where,
        current.calls.open,
      );
    }
    turns.push({ messages: current.messages, awaiting, abandonsOpenItems: current.abandonsOpenItems });
    current = new OpenTurn(awaiting);
  };
  const ordered = placeSystem(pairResults(allowedParts(messages, findings), findings), findings);
  for (const message of ordered) {
    if (current.isOverBefore(message)) finish();
    if (message.role === MessageRole.ASSISTANT && current.needsUser()) {
      findings.add("conversations that the assistant opened, given a USER message", message.where);
      current.messages.push({ role: MessageRole.USER, parts: [text(openerText)], where: message.where });
    }
    current.add(message, findings);
  }
  finish();
  return turns;
}

class OpenTurn {
  readonly messages: TranscriptMessage[] = [];
  readonly calls = new CallIds();

  constructor(readonly abandonsOpenItems: boolean) {}

  isOverBefore(message: TranscriptMessage): boolean {
    if (message.role === MessageRole.TOOL) return false;
    if (this.calls.open > 0) return true;
    if (message.role === MessageRole.USER) return this.has(MessageRole.ASSISTANT);
    return (
      message.role === MessageRole.SYSTEM && (this.has(MessageRole.USER) || this.has(MessageRole.ASSISTANT))
    );
  }

  needsUser(): boolean {
    return !this.abandonsOpenItems && !this.has(MessageRole.USER);
  }

  add(message: TranscriptMessage, findings: Findings): void {
    const parts = message.parts.map((part) => this.rename(part, message.where, findings));
    this.messages.push({ ...message, parts });
  }

  private has(role: MessageRole): boolean {
    return this.messages.some((message) => message.role === role);
  }

  private rename(part: Part, where: string, findings: Findings): Part {
    if (part.content?.$case === "toolCall") {
      const { value } = part.content;
      const callId = this.calls.take(value.callId);
      if (callId === value.callId) return part;
      findings.add("call ids that were missing, too long or used twice in a turn, renamed", where);
      return { content: { $case: "toolCall", value: { ...value, callId } } };
    }
    if (part.content?.$case === "toolResult") {
      const { value } = part.content;
      return {
        content: { $case: "toolResult", value: { ...value, callId: this.calls.answer(value.callId) } },
      };
    }
    return part;
  }
}
