import { rulesNamed } from "../../contract/rules.js";

type Rules = ReturnType<typeof rulesNamed>;
const found = new Map<string, number>();

function bound(field: string, kind: string, of: (rules: Rules) => number | undefined): number {
  const key = `${kind} ${field}`;
  const known = found.get(key);
  if (known !== undefined) return known;
  const [message = "", name = ""] = field.split(".");
  const stated = of(rulesNamed(message, name));
  if (stated === undefined) throw new Error(`the contract states no bound for ${field}`);
  found.set(key, stated);
  return stated;
}

/** The most characters that a text of the contract may have, as in "ToolCallPart.name". */
export function mostCharacters(field: string): number {
  return bound(field, "characters", (rules) => rules.string?.maxLen);
}

/** The most bytes that a text, or bytes, of the contract may have. */
export function mostBytes(field: string): number {
  return bound(field, "bytes", (rules) => rules.string?.maxBytes ?? rules.bytes?.maxLen);
}

/** The most items of a list of the contract. */
export function mostItems(field: string): number {
  return bound(field, "items", (rules) => rules.repeated?.maxItems);
}

/** The bounds of the tags of a session. */
export function tagBounds(): { readonly entries: number; readonly key: number; readonly value: number } {
  const field = "CreateSessionRequest.metadata";
  return {
    entries: bound(field, "entries", (rules) => rules.map?.maxPairs),
    key: bound(field, "key", (rules) => rules.map?.keys?.string?.maxLen),
    value: bound(field, "value", (rules) => rules.map?.values?.string?.maxLen),
  };
}
