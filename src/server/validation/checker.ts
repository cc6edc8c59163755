import { type FieldViolation, QuireError } from "../../errors/quire-error.js";

const maxReported = 16;

/** Collects what is wrong with a message, field by field, on a walk through it. */
export class Checker {
  private readonly violations: FieldViolation[] = [];
  private readonly path: (string | number)[] = [];

  /** Throws one error for all that was found. */
  done(): void {
    const [first] = this.violations;
    if (!first) return;
    const more = this.violations.length > 1 ? ` (and ${this.violations.length - 1} more)` : "";
    throw invalid(`${first.field}: ${first.description}${more}`, this.violations);
  }

  get isFull(): boolean {
    return this.violations.length >= maxReported;
  }

  /** Whether what is looked at is an item of a list. */
  get isAtItem(): boolean {
    return typeof this.path.at(-1) === "number";
  }

  /** Goes into a field, or an item of a list. */
  enter(step: string | number): void {
    this.path.push(step);
  }

  leave(): void {
    this.path.pop();
  }

  /** A field of the message that is looked at, by its name in the contract; "" is what is looked at itself. One word on a field is enough. */
  wrong(field: string, description: string): void {
    if (this.isFull || this.isWrong(field)) return;
    this.violations.push({ field: this.at(field), description });
  }

  /** Whether this field was found wrong before. */
  isWrong(field: string): boolean {
    if (this.violations.length === 0) return false;
    const at = this.at(field);
    return this.violations.some((violation) => violation.field === at);
  }

  private at(field: string): string {
    let at = "";
    for (const step of this.path) {
      if (typeof step === "number") at += `[${step}]`;
      else at += at === "" ? step : `.${step}`;
    }
    return field === "" || at === "" ? at + field : `${at}.${field}`;
  }
}

/** One error for all that is wrong with the fields of a message. */
export function invalid(message: string, violations: readonly FieldViolation[]): QuireError {
  const [first] = violations;
  const metadata: Record<string, string> = first ? { field: first.field } : {};
  return new QuireError("INVALID_FIELD", message, { metadata, violations });
}
