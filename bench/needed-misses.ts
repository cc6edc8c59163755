import type { Message } from "../src/contract/gen/quire/v1/message.js";
import { namesIn as stateNames } from "../src/domain/names.js";
import type { GrownRequest } from "./needed-grow.js";
import { says } from "./needed-names.js";
import { read } from "./needed-peers.js";

/** What became of the place where a needed name was said last. */
export interface Miss {
  readonly turn: number;
  /** Whether the request answers an event; else it is inside a tool loop. */
  readonly isEvent: boolean;
  readonly name: string;
  /** What said it: a user, an assistant's words, a call, a result. */
  readonly by: string;
  /** Whether that message is in the context, cut short, or is summarized. */
  readonly place: "cut short" | "summarized";
  /** How many tokens ago. */
  readonly ago: number;
  /** In how many messages it was said. */
  readonly times: number;
  /** Whether the state of the work takes such names. */
  readonly isStateName: boolean;
}

export function missOf(name: string, { turn, isEvent, before, sent }: GrownRequest): Miss {
  const at = before.findLastIndex((message) => says(read(message).text, name));
  const times = before.filter((message) => says(read(message).text, name)).length;
  const message = before[at]!;
  const ago = before.slice(at + 1).reduce((sum, next) => sum + read(next).tokens, 0);
  const marks = new Set(sent.flatMap(idsOf));
  const place = idsOf(message).some((id) => marks.has(id)) ? "cut short" : "summarized";
  const isStateName = stateNames(read(message).text).has(name);
  return { turn, isEvent, name, by: kindOf(message, name), place, ago, times, isStateName };
}

function idsOf({ parts }: Message): string[] {
  return parts.flatMap(({ content }) => {
    if (content?.$case === "toolCall") return [`call ${content.value.callId}`];
    if (content?.$case === "toolResult") return [`result ${content.value.callId}`];
    return content?.$case === "text" ? [`text ${content.value.text.slice(0, 40)}`] : [];
  });
}

function kindOf(message: Message, name: string): string {
  for (const part of message.parts)
    if (says(read({ ...message, parts: [part] }).text, name)) return `${message.role} ${part.content?.$case}`;
  return "?";
}
