/** Objects that are written as they once were: what reads JSON may round a number, or put keys in another order. */
const writtenAs = new WeakMap<object, string>();
let hasMet = false;

/** Writing such an object takes note that there is one. */
function metOne(this: object): object {
  hasMet = true;
  return this;
}

/** What JavaScript may not write as it read it: long and fractional numbers, and keys that are numbers. */
const mayChange = /\d[.eE]|\d{16}|-0|"\d+"\s*:/;

/** An object that was read from a JSON text, to be written as that text wherever it would change. A copy of it would not be. */
export function asWritten<T extends object>(object: T, text: string): T {
  if (!mayChange.test(text) || JSON.stringify(object) === text) return object;
  writtenAs.set(object, text);
  Object.defineProperty(object, "toJSON", { value: metOne });
  return object;
}

/** A value as JSON. */
export function writeJson(value: object): string {
  hasMet = false;
  const plain = JSON.stringify(value);
  return hasMet ? written(value)! : plain;
}

function written(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const text = writtenAs.get(value);
  if (text !== undefined) return text;
  if (Array.isArray(value)) return `[${value.map((entry) => written(entry) ?? "null").join(",")}]`;
  const fields: string[] = [];
  for (const [key, field] of Object.entries(value)) {
    const json = written(field);
    if (json !== undefined) fields.push(`${JSON.stringify(key)}:${json}`);
  }
  return `{${fields.join(",")}}`;
}
