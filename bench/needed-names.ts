import { type Message, MessageRole } from "../src/contract/gen/quire/v1/message.js";

const run = /[\p{L}\p{N}_@./~:+#$\\-]{3,256}/gu;
const edges = /^[.:+#\\-]+(?![./]*\/)|[.:+#$\\/-]+$/gu;

/**
 * The names in a text that a model could not guess: paths, dotted and joined names, codes, ids, addresses and long numbers. Told by a rule of
 * its own, which shares nothing with the summarizer.
 */
export function namesIn(text: string): Set<string> {
  const found = new Set<string>();
  for (const [word] of text.matchAll(run)) {
    const name = word.replace(edges, "");
    if (name.length >= 3 && isName(name)) found.add(name);
  }
  return found;
}

function isName(text: string): boolean {
  if (!/\p{L}/u.test(text)) return /^\d{4,}$/u.test(text);
  return /[/@]|\p{N}|[\p{L}\p{N}]_[\p{L}\p{N}]|\p{Ll}\p{Lu}|\p{L}\.\p{L}/u.test(text);
}

/** Whether the text has the name by itself, not as a piece of a longer word. */
export function says(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const before = text[at - 1] ?? " ";
    const after = text[at + name.length] ?? " ";
    if (!/[\p{L}\p{N}_]/u.test(before) && !/[\p{L}\p{N}_]/u.test(after)) return true;
  }
  return false;
}

/** Everything that a message says, with what was sent beside it, as plain text: arguments without the escapes of JSON. */
export function textOf({ contextParts, parts }: Message): string {
  return [...contextParts, ...parts]
    .flatMap(({ content }): readonly string[] => {
      switch (content?.$case) {
        case "text":
          return [content.value.text];
        case "toolCall":
          return [content.value.name, ...leavesOf(content.value.argumentsJson)];
        case "toolResult":
          return content.value.content.map((piece) =>
            piece.content?.$case === "text" ? piece.content.value.text : "",
          );
        default:
          return [];
      }
    })
    .join("\n");
}

/** The names in the arguments of a message's calls. */
export function namesCalled(message: Message): Set<string> {
  if (message.role !== MessageRole.ASSISTANT) return new Set();
  const leaves = message.parts.flatMap(({ content }) =>
    content?.$case === "toolCall" ? leavesOf(content.value.argumentsJson) : [],
  );
  return namesIn(leaves.join("\n"));
}

function leavesOf(json: string): string[] {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return [json];
  }
  const leaves: string[] = [];
  const walk = (inner: unknown): void => {
    if (Array.isArray(inner)) inner.forEach(walk);
    else if (inner !== null && typeof inner === "object") Object.values(inner).forEach(walk);
    else if (inner !== null) leaves.push(String(inner));
  };
  walk(value);
  return leaves;
}
