import {
  ApprovalDecision,
  Message,
  MessageRole,
  type Part,
} from "../../src/contract/gen/quire/v1/message.js";
import type { Random } from "../model/random.js";

const words = [
  "flight",
  "réservation",
  "the",
  "customer",
  "42",
  '{"id": 7}',
  "予約",
  "cancel",
  "baggage",
  "refund\n",
  "— ok",
  "🛫",
];

/** Writes messages at random, and keeps which calls they leave open. */
export class Writer {
  calls = 0;
  /** Calls, and whether each waits for an approval. */
  open: { readonly callId: string; readonly approvalId: string | undefined }[] = [];

  constructor(readonly random: Random) {}

  text(most: number): string {
    return Array.from({ length: 1 + this.random.below(most) }, () => this.random.pick(words)).join(" ");
  }

  message(role: MessageRole, parts: readonly Part[]): Message {
    const context =
      role === MessageRole.USER && this.random.chance(0.3)
        ? [textPart(`Current time: ${this.text(20)}\n\n`)]
        : [];
    return Message.create({
      role,
      parts: [...parts],
      contextParts: context,
      contextJson: context.length > 0 ? "{}" : "",
    });
  }

  user(): Message {
    return this.message(MessageRole.USER, [textPart(this.text(this.random.chance(0.06) ? 4_000 : 40))]);
  }

  say(): Message {
    return this.message(MessageRole.ASSISTANT, [textPart(this.text(this.random.chance(0.04) ? 3_000 : 80))]);
  }

  call(): Message {
    const parts: Part[] = this.random.chance(0.5) ? [textPart(this.text(10))] : [];
    for (let left = 1 + this.random.below(3); left > 0; left--) {
      const callId = `call-${++this.calls}`;
      const approvalId = this.random.chance(0.2) ? `approval-${this.calls}` : undefined;
      parts.push({
        content: {
          $case: "toolCall",
          value: {
            callId,
            name: "search",
            argumentsJson: JSON.stringify({ q: this.text(15) }),
            signature: "",
          },
        },
      });
      if (approvalId)
        parts.push({
          content: { $case: "approvalRequest", value: { approvalId, callId, prompt: this.text(10) } },
        });
      this.open.push({ callId, approvalId });
    }
    return this.message(MessageRole.ASSISTANT, parts);
  }

  /** Answers to so many of the open calls: approvals in a user's message, results in one message or in several. */
  answers(count: number): Message[] {
    const answered = this.open.splice(0, count);
    const approvals = answered.flatMap(({ approvalId }): Part[] =>
      approvalId
        ? [
            {
              content: {
                $case: "approvalAnswer",
                value: { approvalId, decision: ApprovalDecision.APPROVED, reason: "yes" },
              },
            },
          ]
        : [],
    );
    const results = answered.map(({ callId }): Part => {
      const content = [
        {
          content: {
            $case: "text" as const,
            value: { text: this.text(this.random.chance(0.12) ? 6_000 : 120) },
          },
        },
      ];
      return {
        content: { $case: "toolResult", value: { callId, content, isError: this.random.chance(0.1) } },
      };
    });
    const together = this.random.chance(0.5) ? [results] : results.map((result) => [result]);
    const user = approvals.length > 0 ? [Message.create({ role: MessageRole.USER, parts: approvals })] : [];
    return [
      ...user,
      ...together
        .filter((parts) => parts.length > 0)
        .map((parts) => Message.create({ role: MessageRole.TOOL, parts })),
    ];
  }
}

export function textPart(text: string): Part {
  return { content: { $case: "text", value: { text } } };
}
