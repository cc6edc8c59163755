import type { ContextChange, PrefixUpdate } from "../../contract/gen/quire/v1/prompt_cache.js";
import { sha256 } from "../../domain/hash.js";
import { scaled } from "../../models/token-scale.js";
import { countTokens } from "../../tokens/count-tokens.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import type { SystemStage } from "../system/system.js";
import type { Prefix } from "./prefix.js";
import { rebuilt, rebuiltSection } from "./section-update.js";

/** The system prompt as it is now. What history tells of earlier ones is taken back, by the next message where there is none. */
export function rewrittenPrefix(
  { request, scale, templates }: Pick<ResolvedContext, "request" | "scale" | "templates">,
  live: SystemStage,
  cause: ContextChange | undefined,
  toldBefore: readonly PrefixUpdate[],
): Prefix {
  const isTold = toldBefore.length > 0;
  const update = rebuilt(templates.texts);
  const updates = isTold && request.event ? [update] : [];
  const tokens = updates.length > 0 ? scaled(scale, countTokens(update.text, scale.vocabulary)) : 0;
  const told = isTold ? [{ section: rebuiltSection, hash: sha256(), tokens }] : [];
  return { system: live, updates, pinned: false, cause, told, toldTokens: 0, toldTurnId: "" };
}
