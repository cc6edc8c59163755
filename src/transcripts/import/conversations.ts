import { UnreadableInput } from "../../errors/unreadable-input.js";
import type { Findings } from "../findings.js";
import { isObject, type JsonObject } from "./json.js";

/** One conversation of a file: its messages, and the object around them if there is one. */
export interface Conversation {
  readonly messages: readonly unknown[];
  readonly body: JsonObject;
}

const messageKeys = ["messages", "traj", "conversation"] as const;

/**
 * The conversations of a JSON value: a list of messages, a body that holds one, or a list of either of these. A list of
 * messages is one conversation; a list of bodies or lists is one conversation each.
 */
export function findConversations(value: unknown): readonly Conversation[] {
  const items = Array.isArray(value) ? value : [value];
  if (items.length === 0)
    throw new UnreadableInput("the file holds an empty list: there is nothing to import");
  if (items.every((item) => isObject(item) && typeof item.role === "string"))
    return [{ messages: items, body: {} }];
  return items.map((item, index) => {
    if (Array.isArray(item)) return { messages: item, body: {} };
    const key = isObject(item) ? messageKeys.find((candidate) => Array.isArray(item[candidate])) : undefined;
    if (!isObject(item) || !key) {
      throw new UnreadableInput(
        `entry ${index + 1} is neither a message with a role nor a conversation with "messages"`,
      );
    }
    const { [key]: messages, ...body } = item;
    return { messages: messages as readonly unknown[], body };
  });
}

/** What stands beside the messages: plain values become metadata, all else is reported. */
export function metadataOf(
  body: JsonObject,
  known: readonly string[],
  findings: Findings,
): Record<string, string> {
  const metadata: [string, string][] = [];
  for (const [key, value] of Object.entries(body)) {
    if (known.includes(key) || value === null) continue;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      metadata.push([key, String(value)]);
    } else {
      findings.add(`"${key}" beside the messages, left out`);
    }
  }
  return Object.fromEntries(metadata);
}
