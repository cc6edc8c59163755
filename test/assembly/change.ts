import { type ContextChange, ContextChangeKind } from "../../src/contract/gen/quire/v1/prompt_cache.js";

/** A cause, as the contract says it. */
export function change(kind: keyof typeof ContextChangeKind, detail = ""): ContextChange {
  return { kind: ContextChangeKind[kind], detail };
}
