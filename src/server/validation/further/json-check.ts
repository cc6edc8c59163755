import { maxJsonDepth, scanJson } from "../../../domain/json-scan.js";
import type { Checker } from "../checker.js";

/** A text that is, or may be, JSON. Rules know nothing of what is in a text. */
export function checkJson(
  checker: Checker,
  field: string,
  text: string,
  { isObject }: { readonly isObject: boolean },
): void {
  if (text === "" || checker.isWrong(field)) return;
  const kind = scanJson(text, maxJsonDepth);
  if (kind === "too deep") checker.wrong(field, `is nested more than ${maxJsonDepth} levels deep`);
  else if (isObject && kind !== "object") checker.wrong(field, "is not a JSON object");
}
