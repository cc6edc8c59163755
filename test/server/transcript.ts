const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Calls and answers, without fields that have their default. What differs from run to run is replaced: ids and hashes by
 * names that say which are the same.
 */
export class Transcript {
  private readonly names = new Map<string, string>();
  private readonly entries: { readonly call: string; readonly request: unknown; readonly answer: unknown }[] =
    [];

  add(call: string, request: unknown, answer: unknown): void {
    this.entries.push({ call, request: this.redacted(request), answer: this.redacted(answer) });
  }

  toString(): string {
    return `${JSON.stringify(this.entries, undefined, 2)}\n`;
  }

  private redacted(value: unknown): unknown {
    if (value instanceof Date) return "<time>";
    if (Buffer.isBuffer(value))
      return value.length === 32 ? this.name("hash", value.toString("hex")) : value.toString("base64");
    if (typeof value === "string") return uuid.test(value) ? this.name("id", value) : value;
    if (Array.isArray(value)) return value.map((entry) => this.redacted(entry));
    if (typeof value !== "object" || value === null) return value;
    const set = Object.entries(value).filter(([, entry]) => !isDefault(entry));
    return Object.fromEntries(set.map(([key, entry]) => [key, this.redacted(entry)]));
  }

  private name(kind: string, value: string): string {
    const known = this.names.get(value);
    if (known) return known;
    const count = [...this.names.values()].filter((name) => name.startsWith(`<${kind} `)).length;
    const name = `<${kind} ${count + 1}>`;
    this.names.set(value, name);
    return name;
  }
}

function isDefault(value: unknown): boolean {
  if (value === undefined || value === "" || value === 0 || value === false) return true;
  if (Array.isArray(value) || Buffer.isBuffer(value)) return value.length === 0;
  return (
    typeof value === "object" && value !== null && !(value instanceof Date) && Object.keys(value).length === 0
  );
}
