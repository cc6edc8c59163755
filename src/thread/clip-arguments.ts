import { jsonEntries } from "../domain/json-scan.js";
import { type CountText, clipText, type Marks } from "./clip-text.js";

/** Values of fewer characters are kept: names, paths and numbers are what the next calls need. */
const shortChars = 160;

/**
 * Arguments that cost no more than so many tokens, as a JSON object: its long values are shortened, each by the same measure. Where even that is too
 * much, or they are no object, a single field says what they were.
 */
export async function clipArguments(
  json: string,
  tokens: number,
  mostTokens: number,
  marks: Marks,
  count: CountText,
): Promise<string> {
  const entries = jsonEntries(json);
  const long = entries?.filter(({ value }) => value.length > shortChars) ?? [];
  const longChars = long.reduce((sum, { value }) => sum + value.length, 0);
  const shortTokens = tokens * (1 - longChars / Math.max(1, json.length));
  for (let room = mostTokens - shortTokens; entries && long.length > 0 && room > 0; room *= 0.5) {
    const fields: string[] = [];
    for (const { key, value } of entries) {
      const most = Math.floor((room * value.length) / longChars);
      const kept = value.length > shortChars ? await clipValue(value, most, marks, count) : value;
      fields.push(`${key}:${kept}`);
    }
    const clipped = `{${fields.join(",")}}`;
    if ((await count(clipped)) <= mostTokens) return clipped;
    if (room < 16) break;
  }
  return `{"left_out":${JSON.stringify(marks.leftOut(tokens))}}`;
}

/** A text is shortened; of a list or an object only its size is kept. */
async function clipValue(value: string, mostTokens: number, marks: Marks, count: CountText): Promise<string> {
  const text = value.startsWith('"') ? (JSON.parse(value) as string) : undefined;
  const tokens = await count(text ?? value);
  if (tokens <= mostTokens) return value;
  return JSON.stringify(
    text === undefined ? marks.leftOut(tokens) : await clipText(text, tokens, mostTokens, marks, count),
  );
}
