import type { JsonSlice } from "../../domain/json-slice.js";
import { maxParts } from "../answer-parts.js";
import { type StreamEvents, unfinished } from "./events.js";

type Fields = { [name: string]: unknown };
/** Said once, or again and again, but never in pieces. */
const once: ReadonlySet<string> = new Set(["role", "id", "type", "index", "object"]);

/** The completion that the chunks of Chat Completions come to, as JSON. Servers differ in what they repeat. */
export function wholeChat({ data, isDone }: StreamEvents): string {
  const choices = new Map<number, { message: Fields; finish: unknown }>();
  let top: Fields = {};
  for (const chunk of data) {
    const error = chunk.field("error");
    if (error) throw error.wrong("is an error, not an answer");
    for (const choice of chunk.itemsAt(maxParts, "choices")) {
      const index = choice.countAt("index");
      const known = choices.get(index) ?? { message: empty(), finish: null };
      if (choices.size === maxParts) throw choice.wrong(`is more than ${maxParts} choices`);
      const delta = choice.field("delta");
      if (delta) merge(known.message, delta);
      known.finish = choice.field("finish_reason")?.value() ?? known.finish;
      choices.set(index, known);
    }
    const { choices: _, usage, ...rest } = chunk.value() as Fields;
    top = { ...top, ...rest, ...(usage ? { usage } : {}) };
  }
  const isFinished = choices.size > 0 && [...choices.values()].every(({ finish }) => finish !== null);
  if (!isDone && !isFinished) throw unfinished();
  const list = [...choices].sort(([a], [b]) => a - b);
  return JSON.stringify({
    ...top,
    object: "chat.completion",
    choices: list.map(([index, { message, finish }]) => ({ index, message, finish_reason: finish })),
  });
}

function merge(target: Fields, delta: JsonSlice): void {
  for (const [name, value] of delta.fields()) {
    const known = target[name];
    if (value.isArray) target[name] = mergeList((known ?? []) as Fields[], value);
    else if (value.isObject) {
      const into = typeof known === "object" && known !== null ? (known as Fields) : empty();
      merge(into, value);
      target[name] = into;
    } else target[name] = mergeScalar(name, known, value.value());
  }
}

function mergeScalar(name: string, known: unknown, given: unknown): unknown {
  const isPiece = typeof known === "string" && typeof given === "string" && !once.has(name);
  if (!isPiece) return given;
  // Some servers say a function's whole name in every chunk.
  return name === "name" && known === given ? known : known + given;
}

/** Items that say their place are merged with the one in that place, others are added. */
function mergeList(known: Fields[], list: JsonSlice): Fields[] {
  for (const item of list.items(maxParts)) {
    const place = item.isObject ? item.field("index") : undefined;
    const at = place ? known.findIndex(({ index }) => index === place.value()) : -1;
    if (at >= 0) merge(known[at]!, item);
    else if (known.length === maxParts) throw item.wrong(`is more than ${maxParts} entries`);
    else if (item.isObject) {
      const added = empty();
      merge(added, item);
      known.push(added);
    } else known.push(item.value() as Fields);
  }
  return known;
}

/** Without a prototype, so that no name that somebody sends means anything. */
function empty(): Fields {
  return Object.create(null) as Fields;
}
