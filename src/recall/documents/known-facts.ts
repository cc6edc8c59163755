/** What metadata says of a text, under the names that people use for it. */
const timeKeys = ["time", "timestamp", "date", "sent_at", "said_at", "occurred_at", "created_at"];
const speakerKeys = ["speaker", "author", "sender", "from", "name"];

export interface KnownFacts {
  readonly timeMs: number | undefined;
  readonly speaker: string;
}

/** When it was said and by whom, from the first object that says so. */
export function knownFacts(...objects: readonly (string | null)[]): KnownFacts {
  let timeMs: number | undefined;
  let speaker = "";
  for (const json of objects) {
    const object = parse(json);
    timeMs ??= firstOf(timeKeys, object, timeOf);
    speaker ||= firstOf(speakerKeys, object, nameOf) ?? "";
  }
  return { timeMs, speaker };
}

function parse(json: string | null): Readonly<Record<string, unknown>> {
  if (!json?.startsWith("{") || json.length > 65_536) return {};
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function firstOf<T>(
  keys: readonly string[],
  object: Readonly<Record<string, unknown>>,
  read: (value: unknown) => T | undefined,
): T | undefined {
  for (const key of keys) {
    const value = Object.hasOwn(object, key) ? read(object[key]) : undefined;
    if (value !== undefined) return value;
  }
  return undefined;
}

/** A date as ISO 8601 writes it. */
function timeOf(value: unknown): number | undefined {
  if (typeof value !== "string" || !/^\d{4}-\d{2}-\d{2}/.test(value)) return undefined;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? undefined : ms;
}

function nameOf(value: unknown): string | undefined {
  return typeof value === "string" && value.length > 0 && value.length <= 100 ? value : undefined;
}
