import { ContextChangeKind } from "../../contract/gen/quire/v1/prompt_cache.js";
import { scaled } from "../../models/token-scale.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import type { HistoryStage } from "../history/history.js";
import type { HistoryTrial } from "../history/try-history.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import type { Prefix } from "./prefix.js";
import type { CarriedPrefix } from "./propose-prefix.js";
import { rewrittenPrefix } from "./rewritten-prefix.js";
import { rebuiltSection } from "./section-update.js";

/** Over how many turns the cost of carrying updates is reckoned. */
const horizonTurns = 20;

/** The prefix, and what was tried beside it where that is what is sent. */
export interface SettledPrefix {
  readonly prefix: Prefix;
  readonly kept: HistoryTrial | undefined;
}

/** An earlier system prompt stays if history comes out beside it without being rewritten, still shows what was told before, and costs less so. */
export async function settlePrefix(
  counter: TokenCounter,
  resolved: Pick<ResolvedContext, "request" | "scale" | "templates" | "model">,
  { pinned, live, told, toldBefore, updates }: CarriedPrefix,
  trial: HistoryTrial,
): Promise<SettledPrefix> {
  const { scale, model } = resolved;
  const anew = (kind: ContextChangeKind): SettledPrefix => {
    const cause = { kind, detail: "" };
    return { prefix: rewrittenPrefix(resolved, live, cause, toldBefore.updates), kept: undefined };
  };
  const { history } = trial;
  if (!history) return anew(ContextChangeKind.COMPACTION);
  if (!isShown(history, toldBefore.turnId)) return anew(ContextChangeKind.CUT);
  const texts = updates.map(({ text }) => text);
  const counts = await counter.countAll(texts, scale.vocabulary);
  const costs = counts.map((tokens) => scaled(scale, tokens));
  const carried = costs.filter((_, index) => updates[index]!.section !== rebuiltSection);
  const toldTokens = carried.reduce((sum, tokens) => sum + tokens, toldBefore.tokens);
  const { readPrice, writePrice } = model.entry.cache;
  const carrying = toldTokens * readPrice * horizonTurns;
  const rewriting = (pinned.tokens + history.tokens) * (writePrice - readPrice);
  if (carrying > rewriting) return anew(ContextChangeKind.CARRYING_COSTS_MORE);
  let at = 0;
  const prefix: Prefix = {
    system: pinned,
    updates,
    pinned: !pinned.hash.equals(live.hash) || updates.some(({ section }) => section !== rebuiltSection),
    cause: undefined,
    told: told.map(({ section, hash, update }) => ({ section, hash, tokens: update ? costs[at++]! : 0 })),
    toldTokens,
    toldTurnId: toldBefore.turnId,
  };
  return { prefix, kept: trial };
}

/** Whether a turn is in the history with its first message, which carries what was told. */
function isShown({ layer, shown }: HistoryStage, turnId: string): boolean {
  if (turnId === "") return true;
  const isSplit = layer.firstTurnId === turnId && layer.splitMessageIndex > 0;
  return !isSplit && shown.some(({ stored }) => stored.turnId === turnId);
}
