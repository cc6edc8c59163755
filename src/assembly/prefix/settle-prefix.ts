import { scaled } from "../../budget/token-scale.js";
import {
  type ContextChange,
  ContextChangeKind,
  type PrefixUpdate,
} from "../../contract/gen/quire/v1/prompt_cache.js";
import { BudgetPolicy } from "../../domain/context-settings.js";
import { sha256 } from "../../domain/hash.js";
import { countTokens } from "../../tokens/count-tokens.js";
import { readHistory } from "../compact-history.js";
import { buildCurrent } from "../current-message.js";
import type { AssemblyDeps } from "../deps.js";
import { buildHistory, type HistoryStage } from "../history.js";
import type { ContextPlan } from "../plan.js";
import type { ResolvedContext } from "../resolve.js";
import { earlierSystem, type SystemStage } from "../system.js";
import type { ToolsStage } from "../tools.js";
import type { Pin } from "./pin.js";
import { rebuilt, rebuiltSection, type SectionUpdate, sectionUpdate } from "./section-update.js";
import { type ToldUpdates, toldUpdates } from "./told-updates.js";

/** The system prompt that is sent, and how what changed in it is told. */
export interface Prefix {
  readonly system: SystemStage;
  /** What the current message has to tell. */
  readonly updates: readonly SectionUpdate[];
  readonly pinned: boolean;
  /** Why it is not the one of the context before, although that is warm. */
  readonly cause: ContextChange | undefined;
  /** What differs from the system prompt that is sent, told now or before. */
  readonly told: readonly PrefixUpdate[];
  readonly toldTokens: number;
  /** The first turn that carries some of it; empty when that is this context's. */
  readonly toldTurnId: string;
}

/** Changes of these may wait; all others apply at once. */
const patient = new Set([
  "workspace_rules",
  "user_identity",
  "persona",
  "soul",
  "agent_identity",
  "language",
  "skills",
  "memory",
  "autonomy",
  "environment",
]);

/** Over how many turns the cost of carrying updates is reckoned. */
const horizonTurns = 20;

/**
 * While a prompt cache is warm, the system prompt stays what it was, and what changed rides in the current message; unless the prefix changes anyway,
 * something changed that must apply at once, or carrying costs more than writing all anew.
 */
export async function settlePrefix(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  plan: ContextPlan,
  tools: ToolsStage,
  live: SystemStage,
  signal?: AbortSignal,
): Promise<Prefix> {
  const { pin, settings } = resolved;
  const isStable = settings.policy === BudgetPolicy.ELASTIC && !settings.isPrefixLive;
  const toldBefore = await toldUpdates(deps, resolved);
  const anew = (kind?: ContextChangeKind, detail = "") =>
    rewritten(resolved, live, kind && { kind, detail }, toldBefore);
  if (!pin || !isStable || !isWarm(resolved, pin)) return anew();
  const sameSystem = live.hash.equals(pin.receipt.hashes!.system);
  if (sameSystem && toldBefore.updates.length === 0) return anew();
  if (!tools.hash.equals(pin.receipt.hashes!.tools)) return anew(ContextChangeKind.TOOLS);
  if (pin.receipt.historyLayer!.compactionId !== (resolved.thread.compaction?.id ?? ""))
    return anew(ContextChangeKind.COMPACTION);
  const pinned = await earlierSystem(deps, resolved, pin.receipt, live.inputs);
  if (!pinned) return anew(ContextChangeKind.NOT_KEPT);

  const before = sectionTexts(pinned);
  const now = sectionTexts(live);
  const names = [...new Set([...before.keys(), ...now.keys()])];
  const changed = names.filter((name) => before.get(name) !== now.get(name));
  const urgent = changed.find((name) => !patient.has(name));
  if (urgent !== undefined) return anew(ContextChangeKind.SECTION, urgent);
  const told = await toldSections(deps, resolved, changed, toldBefore.updates, before, now, signal);
  return carryOrRewrite(deps, resolved, plan, { tools, pinned, live, told, toldBefore, anew }, signal);
}

export function isWarm(resolved: ResolvedContext, pin: Pin): boolean {
  return resolved.nowMs - pin.lastUseMs <= resolved.model.entry.cache.ttlSeconds * 1_000;
}

/** The system prompt as it is now. What history tells of earlier ones is taken back, by the next message where there is none. */
function rewritten(
  { request, scale, templates }: ResolvedContext,
  live: SystemStage,
  cause: ContextChange | undefined,
  { updates: toldBefore }: ToldUpdates,
): Prefix {
  const isTold = toldBefore.length > 0;
  const update = rebuilt(templates.texts);
  const updates = isTold && request.event ? [update] : [];
  const tokens = updates.length > 0 ? scaled(scale, countTokens(update.text, scale.vocabulary)) : 0;
  const told = isTold ? [{ section: rebuiltSection, hash: sha256(), tokens }] : [];
  return { system: live, updates, pinned: false, cause, told, toldTokens: 0, toldTurnId: "" };
}

interface ToldSection {
  readonly section: string;
  /** What the model will know after this context. */
  readonly hash: Buffer;
  /** What the current message has to say for that; undefined where nothing is new, or there is no current message. */
  readonly update: SectionUpdate | undefined;
}

/** Every section that is not what the pinned prompt says, or that the model was told of before. */
async function toldSections(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  changed: readonly string[],
  toldBefore: readonly PrefixUpdate[],
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
  signal: AbortSignal | undefined,
): Promise<ToldSection[]> {
  const known = new Map(toldBefore.map(({ section, hash }) => [section, hash]));
  const told: ToldSection[] = [];
  for (const section of new Set([...known.keys(), ...changed])) {
    const [was, is] = [before.get(section) ?? "", now.get(section) ?? ""];
    const hash = sha256(Buffer.from(is));
    const knownHash = known.get(section) ?? sha256(Buffer.from(was));
    if (knownHash.equals(hash)) told.push({ section, hash, update: undefined });
    else if (resolved.request.event) {
      const change = { before: was, now: is };
      const { texts } = resolved.templates;
      told.push({ section, hash, update: await sectionUpdate(deps.offload, texts, section, change, signal) });
    } else if (known.has(section)) told.push({ section, hash: knownHash, update: undefined });
  }
  return told;
}

interface Carrying {
  readonly tools: ToolsStage;
  readonly pinned: SystemStage;
  readonly live: SystemStage;
  readonly told: readonly ToldSection[];
  readonly toldBefore: ToldUpdates;
  readonly anew: (kind: ContextChangeKind) => Prefix;
}

/** Carries the updates, if history is not rewritten anyway, still shows those that were told before, and that is cheaper. */
async function carryOrRewrite(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  plan: ContextPlan,
  { tools, pinned, live, told, toldBefore, anew }: Carrying,
  signal: AbortSignal | undefined,
): Promise<Prefix> {
  const updates = told.flatMap(({ update }) => update ?? []);
  const current = await buildCurrent(deps, resolved, plan, updates, pinned.injected);
  const others = { system: pinned.tokens, tools: tools.tokens, event: current.tokens };
  const state = await readHistory(deps, resolved, plan, others, signal);
  if (state.job) return anew(ContextChangeKind.COMPACTION);
  const history = await buildHistory(deps, resolved, plan, others, state.window);
  if (!isShown(history, toldBefore.turnId)) return anew(ContextChangeKind.CUT);
  const texts = updates.map(({ text }) => text);
  const counts = await deps.counter.countAll(texts, resolved.scale.vocabulary);
  const costs = counts.map((tokens) => scaled(resolved.scale, tokens));
  const carried = costs.filter((_, index) => updates[index]!.section !== rebuiltSection);
  const toldTokens = carried.reduce((sum, tokens) => sum + tokens, toldBefore.tokens);
  const { readPrice, writePrice } = resolved.model.entry.cache;
  const carrying = toldTokens * readPrice * horizonTurns;
  const rewriting = (pinned.tokens + history.tokens) * (writePrice - readPrice);
  if (carrying > rewriting) return anew(ContextChangeKind.CARRYING_COSTS_MORE);
  let at = 0;
  return {
    system: pinned,
    updates,
    pinned: !pinned.hash.equals(live.hash) || updates.some(({ section }) => section !== rebuiltSection),
    cause: undefined,
    told: told.map(({ section, hash, update }) => ({ section, hash, tokens: update ? costs[at++]! : 0 })),
    toldTokens,
    toldTurnId: toldBefore.turnId,
  };
}

/** Whether a turn is in the history with its first message, which carries what was told. */
function isShown({ layer, shown }: HistoryStage, turnId: string): boolean {
  if (turnId === "") return true;
  const isSplit = layer.firstTurnId === turnId && layer.splitMessageIndex > 0;
  return !isSplit && shown.some(({ stored }) => stored.turnId === turnId);
}

function sectionTexts({ text, sections }: SystemStage): Map<string, string> {
  const bytes = Buffer.from(text);
  return new Map(
    sections.map(({ name, offset, length }) => [name, bytes.toString("utf8", offset, offset + length)]),
  );
}
