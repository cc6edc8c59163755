import type { ApprovalAnswerPart, ApprovalRequestPart } from "../../contract/gen/quire/v1/message.js";
import { parseJson } from "../../domain/json-scan.js";

/** A list as a JSON document, one item to a line, as they come. */
export async function* jsonList(
  items: AsyncIterable<object>,
  open: string,
  close: string,
): AsyncGenerator<string> {
  let separator = "";
  yield `${open}\n`;
  for await (const item of items) {
    yield `${separator}  ${JSON.stringify(item)}`;
    separator = ",\n";
  }
  yield `\n${close}\n`;
}

/** Providers know no approvals: what was asked and answered, in words. */
export function approvalRequestText({ approvalId, prompt }: ApprovalRequestPart): string {
  return `[approval requested: ${approvalId}] ${prompt}`;
}

export function approvalAnswerText({ approvalId, decision, reason }: ApprovalAnswerPart): string {
  const word = decision.replace("APPROVAL_DECISION_", "").toLowerCase();
  return `[approval ${word}: ${approvalId}] ${reason}`.trim();
}

/** A part that a provider gave and that was kept whole; nothing when it is another provider's or no JSON object. */
export function ownOpaque(provider: string, wanted: string, data: Buffer): object | undefined {
  if (provider !== wanted) return undefined;
  const value = parseJson(data.toString("utf8"));
  return typeof value === "object" && value !== null ? value : undefined;
}
