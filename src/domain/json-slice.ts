import { pastSpace, scalarEnd, stringEnd } from "./json-scan.js";

/** What is wrong with a JSON text, and where in it. */
export class JsonProblem extends Error {
  override readonly name = "JsonProblem";

  constructor(
    /** As in "content[2].input"; empty for the whole. */
    readonly path: string,
    readonly description: string,
  ) {
    super(path === "" ? description : `${path}: ${description}`);
  }
}

/** No provider's answer has as many in one object. */
const mostFields = 1_024;

/**
 * A value within a JSON text that is known to be valid (`scanJson`). Only what is asked for is read, each level once, and `raw` is the
 * value as it was written: numbers with all their digits, keys in their order. A field that is null is as one that is not there.
 */
export class JsonSlice {
  private members: ReadonlyMap<string, JsonSlice> | undefined;

  private constructor(
    private readonly text: string,
    private readonly start: number,
    private readonly end: number,
    readonly path: string,
  ) {}

  static of(text: string): JsonSlice {
    const start = pastSpace(text, 0);
    return new JsonSlice(text, start, valueEnd(text, start), "");
  }

  get raw(): string {
    return this.text.slice(this.start, this.end);
  }

  get isObject(): boolean {
    return this.text[this.start] === "{";
  }

  get isArray(): boolean {
    return this.text[this.start] === "[";
  }

  get isText(): boolean {
    return this.text[this.start] === '"';
  }

  value(): unknown {
    return JSON.parse(this.raw);
  }

  wrong(description: string): JsonProblem {
    return new JsonProblem(this.path, description);
  }

  /** The fields of an object, in their order. */
  fields(): ReadonlyMap<string, JsonSlice> {
    if (this.members) return this.members;
    if (!this.isObject) throw this.wrong("must be an object");
    const members = new Map<string, JsonSlice>();
    for (let at = this.next(this.start + 1); at < this.end - 1; at = this.next(at)) {
      if (members.size === mostFields) throw this.wrong(`has more than ${mostFields} fields`);
      const keyEnd = stringEnd(this.text, at + 1);
      const name = JSON.parse(this.text.slice(at, keyEnd)) as string;
      const start = pastSpace(this.text, pastSpace(this.text, keyEnd) + 1);
      const end = valueEnd(this.text, start);
      const isNull = this.text[start] === "n";
      if (isNull) members.delete(name);
      else members.set(name, new JsonSlice(this.text, start, end, this.pathOf(name)));
      at = end;
    }
    this.members = members;
    return members;
  }

  /** A field under the first of these names that it has. */
  field(...names: readonly string[]): JsonSlice | undefined {
    for (const name of names) {
      const found = this.fields().get(name);
      if (found) return found;
    }
    return undefined;
  }

  required(...names: readonly string[]): JsonSlice {
    const found = this.field(...names);
    if (!found) throw new JsonProblem(this.pathOf(names[0]!), "is missing");
    return found;
  }

  /** The items of an array; more than so many are refused. */
  items(most: number): readonly JsonSlice[] {
    if (!this.isArray) throw this.wrong("must be a list");
    const items: JsonSlice[] = [];
    for (let at = this.next(this.start + 1); at < this.end - 1; at = this.next(at)) {
      if (items.length === most) throw this.wrong(`has more than ${most.toLocaleString("en")} entries`);
      const end = valueEnd(this.text, at);
      items.push(new JsonSlice(this.text, at, end, `${this.path}[${items.length}]`));
      at = end;
    }
    return items;
  }

  /** The text that a string holds. */
  string(): string {
    if (!this.isText) throw this.wrong("must be a string");
    const text = this.value() as string;
    // Stored text is UTF-8, which cannot hold it.
    if (/\p{Cs}/u.test(text)) throw this.wrong("holds half of a surrogate pair");
    return text;
  }

  /** A field's text; empty where it is not there. */
  textAt(...names: readonly string[]): string {
    return this.field(...names)?.string() ?? "";
  }

  /** A field's items; none where it is not there. */
  itemsAt(most: number, ...names: readonly string[]): readonly JsonSlice[] {
    return this.field(...names)?.items(most) ?? [];
  }

  /** A field that counts something; 0 where it is not there. */
  countAt(...names: readonly string[]): number {
    const found = this.field(...names);
    const count = found ? found.value() : 0;
    const isCount = Number.isInteger(count) && Number(count) >= 0 && Number(count) <= 0xffff_ffff;
    if (!isCount) throw found!.wrong("must be a whole number from 0 to 4,294,967,295");
    return Number(count);
  }

  /** Where the next key or item begins, from behind a value or the opening bracket. */
  private next(from: number): number {
    const at = pastSpace(this.text, from);
    return this.text[at] === "," ? pastSpace(this.text, at + 1) : at;
  }

  private pathOf(name: string): string {
    return this.path === "" ? name : `${this.path}.${name}`;
  }
}

/** Behind a value: brackets are counted, and those in strings passed over. */
function valueEnd(text: string, start: number): number {
  const first = text[start];
  if (first !== "{" && first !== "[") return scalarEnd(text, start);
  let depth = 0;
  for (let at = start; ; at++) {
    const unit = text[at];
    if (unit === '"') at = stringEnd(text, at + 1) - 1;
    else if (unit === "{" || unit === "[") depth++;
    else if ((unit === "}" || unit === "]") && --depth === 0) return at + 1;
  }
}
