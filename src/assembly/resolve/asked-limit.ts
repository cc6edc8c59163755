import { BudgetBound } from "../../contract/gen/quire/v1/assembly.js";
import type { Capsule } from "../../domain/capsule.js";
import type { SettledRequest } from "./settle-request.js";

/** What may ask for a limit. */
export interface Asking {
  readonly request: Pick<SettledRequest, "maxContextTokens" | "sessionMaxTokens">;
  readonly capsule: Pick<Capsule, "body">;
}

export interface AskedLimit {
  readonly tokens: number;
  readonly by: BudgetBound;
}

/** `max_context_tokens`, from the nearest that sets it. */
export function askedLimit({ request, capsule }: Asking): AskedLimit | undefined {
  const places = [
    [request.maxContextTokens, BudgetBound.REQUEST],
    [request.sessionMaxTokens, BudgetBound.SESSION],
    [capsule.body?.maxContextTokens, BudgetBound.CAPSULE],
  ] as const;
  for (const [tokens, by] of places) if (tokens !== undefined) return { tokens, by };
  return undefined;
}
