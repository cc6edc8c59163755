import type { Checker } from "../checker.js";

/** No list of messages may be longer; one that is has been refused, and is not looked at to its end. */
const mostItems = 4_096;

/** Each name once in a list of messages: the rule `unique` knows values alone. */
export function checkOnce<T>(
  checker: Checker,
  list: string,
  items: readonly T[],
  field: string,
  nameOf: (item: T) => string,
  words = "is there twice",
): void {
  const seen = new Set<string>();
  for (let index = 0; index < Math.min(items.length, mostItems) && !checker.isFull; index++) {
    const name = nameOf(items[index]!);
    if (seen.has(name)) checker.wrong(`${list}[${index}].${field}`, words);
    seen.add(name);
  }
}
