import { maxJsonDepth, scanJson } from "../../domain/json-scan.js";
import { type FieldViolation, QuireError } from "../../errors/quire-error.js";

interface TextBounds {
  readonly min?: number;
  readonly max: number;
  /** Count UTF-8 bytes and not characters: for content, where size is what matters. */
  readonly unit?: "bytes";
  /** Content may hold any character; names and other texts that become columns may not hold control characters. */
  readonly content?: boolean;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const controlCharacter = /[\u0000-\u001f\u007f]/;
const maxReported = 16;

/** Collects what is wrong with a request, field by field. */
export class Checker {
  private readonly violations: FieldViolation[] = [];

  /** Throws one error for all that was found. */
  done(): void {
    const [first] = this.violations;
    if (!first) return;
    const more = this.violations.length > 1 ? ` (and ${this.violations.length - 1} more)` : "";
    throw new QuireError("INVALID_FIELD", `${first.field}: ${first.description}${more}`, {
      metadata: { field: first.field },
      violations: this.violations,
    });
  }

  get isFull(): boolean {
    return this.violations.length >= maxReported;
  }

  wrong(field: string, description: string): void {
    if (!this.isFull) this.violations.push({ field, description });
  }

  text(field: string, value: string, bounds: TextBounds): void {
    const { min = 0, max, unit } = bounds;
    const size = unit === "bytes" ? byteLength(value, max) : characters(value, max);
    const name = unit ?? "characters";
    if (size < min) this.wrong(field, min === 1 ? "is required" : `must have at least ${min} ${name}`);
    else if (size > max) this.wrong(field, `has more than ${max.toLocaleString("en")} ${name}`);
    else if (!bounds.content && controlCharacter.test(value)) this.wrong(field, "holds a control character");
  }

  /** Content that is, or may be, JSON. */
  json(field: string, text: string, maxBytes: number, { isObject }: { readonly isObject: boolean }): void {
    this.text(field, text, { max: maxBytes, unit: "bytes", content: true });
    if (text === "" || text.length > maxBytes) return;
    const kind = scanJson(text, maxJsonDepth);
    if (kind === "too deep") this.wrong(field, `is nested more than ${maxJsonDepth} levels deep`);
    else if (isObject && kind !== "object") this.wrong(field, "is not a JSON object");
  }

  count(field: string, items: { readonly length: number }, min: number, max: number): void {
    if (items.length < min) this.wrong(field, `must have at least ${min}`);
    if (items.length > max) this.wrong(field, `has more than ${max.toLocaleString("en")}`);
  }

  number(field: string, value: number, min: number, max: number): void {
    if (!Number.isInteger(value) || value < min || value > max) {
      this.wrong(field, `must be a whole number from ${min} to ${max.toLocaleString("en")}`);
    }
  }

  uuid(field: string, value: string, required: boolean): void {
    if (value === "") {
      if (required) this.wrong(field, "is required");
    } else if (value.length > 36 || controlCharacter.test(value)) {
      this.wrong(field, "is not an id");
    }
  }

  /** An enum value that this version of the contract knows, and that the place allows. */
  oneOf(field: string, value: string, allowed: readonly string[]): void {
    if (!allowed.includes(value)) this.wrong(field, `must be one of ${allowed.map(shortName).join(", ")}`);
  }

  /** An enum value that this version of the contract knows. */
  known(field: string, value: string): void {
    if (value === "UNRECOGNIZED") this.wrong(field, "is a value that this server does not know");
  }

  tags(field: string, tags: { readonly [key: string]: string }): void {
    const entries = Object.entries(tags);
    this.count(field, entries, 0, 64);
    for (const [key, value] of entries.slice(0, 65)) {
      this.text(`${field} key`, key, { min: 1, max: 128 });
      this.text(`${field}["${key.slice(0, 128)}"]`, value, { max: 4_096, content: true });
      if (value.includes("\0")) this.wrong(`${field}["${key.slice(0, 128)}"]`, "holds a NUL character");
    }
  }

  names(field: string, names: readonly string[]): void {
    this.count(field, names, 0, 256);
    names.slice(0, 257).forEach((name, index) => {
      this.text(`${field}[${index}]`, name, { min: 1, max: 256 });
    });
  }
}

/** A string has at least as many UTF-8 bytes as UTF-16 units, so most long ones are settled without encoding. */
function byteLength(value: string, max: number): number {
  return value.length > max ? value.length : Buffer.byteLength(value);
}

/** Characters as people and other languages count them, not UTF-16 units, of which some characters take two. */
function characters(value: string, max: number): number {
  return value.length <= max || value.length > 2 * max ? value.length : [...value].length;
}

function shortName(value: string): string {
  return value.replace(/^(MESSAGE_ROLE|APPROVAL_DECISION|TURN_STATUS|TASK_STATUS)_/, "");
}

/** A validation of requests: all that the check finds is thrown as one error. */
export function checked<Request>(
  check: (checker: Checker, request: Request) => void,
): (request: Request) => void {
  return (request) => {
    const checker = new Checker();
    check(checker, request);
    checker.done();
  };
}

/** What makes a write idempotent. */
export function checkRequestId(checker: Checker, requestId: string): void {
  checker.text("request_id", requestId, { max: 128 });
}

/** What asks for a page of a list. */
export function checkPage(
  checker: Checker,
  request: { readonly pageSize: number; readonly pageToken: string },
): void {
  checker.number("page_size", request.pageSize, 0, 1_000);
  checker.text("page_token", request.pageToken, { max: 2_048 });
}
