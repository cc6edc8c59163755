import { sha256 } from "../../domain/hash.js";
import type { NameRule } from "../tool-names.js";

const prefix = "call_";

/**
 * A call's id that is no longer than a provider takes: itself, or one that follows from it alone, so that a body has the same id for a call and its result, and
 * every body the same. Who holds the calls finds the one that is meant by shortening their ids.
 */
export function shortCallId(callId: string, maxLength: number): string {
  if (callId.length <= maxLength) return callId;
  return (prefix + sha256(Buffer.from(callId)).toString("base64url")).slice(0, maxLength);
}

/** What Chat Completions and Responses take. */
export const chatCallId = openaiCallId(40);
export const responsesCallId = openaiCallId(64);

function openaiCallId(maxLength: number): NameRule {
  return { pattern: /^[!-~]+$/, forbidden: /[^!-~]/g, maxLength, head: "call", shorten: shortCallId };
}
