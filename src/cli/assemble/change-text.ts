import { type ContextChange, ContextChangeKind } from "../../contract/gen/quire/v1/prompt_cache.js";
import { word } from "./lines.js";

/** Where the name of the kind alone would not say it. */
const texts: Readonly<Partial<Record<ContextChangeKind, string>>> = {
  [ContextChangeKind.NOT_KEPT]: "the context before is no longer kept",
  [ContextChangeKind.PROVIDER]: "the provider read less than its rules allow",
};

/** What made a context another one, in a few words. */
export function changeText({ kind, detail }: ContextChange): string {
  const what = texts[kind] ?? word(kind, "CONTEXT_CHANGE_KIND_");
  return detail === "" ? what : `${what} ${detail}`;
}
