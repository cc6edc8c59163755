import { AgentRole } from "../../domain/agent-role.js";
import { ActorKind, OwnerKind } from "../../domain/memory.js";
import type { Soon } from "../../domain/soon.js";
import { SourcePosition } from "../../domain/source.js";
import { mostTokens, plainRules, type SourceRules } from "../../sources/rules.js";
import type {
  AskingSession,
  OfferedSource,
  Source,
  SourceAnswer,
  SourceOffer,
  SourceView,
  Waiting,
} from "../../sources/source.js";
import { emptyAnswer } from "../../sources/source.js";
import type { RecallDeps } from "../deps.js";
import { type Scope, type ScopeRange, scopeOfThread } from "../search/scope.js";
import { defaultSimilarity, type SearchAnswer, type SearchHit, search } from "../search/search.js";
import { identifiersIn, isCompound } from "../terms/analyse.js";
import { withExchanges } from "./exchange.js";
import { aboutTokensOf, fitMemories, isTelling } from "./fit-memories.js";
import { lastWords, recalledIn, sentContexts, unseen } from "./shown-texts.js";
import { ShownWords } from "./shown-words.js";
import { namesBlock, namesTokens, unshownNames, type WeighedText } from "./unshown-names.js";

/** What holds for recall where nobody says otherwise. */
export const memoryRules: SourceRules = {
  ...plainRules,
  position: SourcePosition.CURRENT,
  priority: 60,
  order: 90,
  maxItems: 50,
  maxTokens: 2_048,
  maxChars: 32_768,
  deadlineMs: 1_000,
  thresholds: { coverage: 0.4, last_turns: 0, share: 1 / 32 },
};

/** Identifiers are looked up only where they are few enough to be meant. */
const maxIdentifiers = 8;
const textsPerIdentifier = 2;
/** Of texts with an identifier of the event, so many are looked through for names, */
const maxNaming = 16;
/** and what they name counts for more than what texts say that have only words of it. */
const namingWeight = 2;
/** So much of the room may be names. */
const namesShare = 0.5;

/**
 * What left the window, or was kept for later, comes back when the event is about it: archival entries of the agent, and messages of
 * turns that history no longer shows. Nothing where nothing matches.
 */
export class MemorySource implements Source {
  readonly name = "memory";
  readonly isAfterHistory = true;

  constructor(private readonly deps: RecallDeps) {}

  async fetch(view: SourceView, rules: SourceRules, { signal }: Waiting): Promise<SourceAnswer> {
    const { limit } = view.recall;
    const last = await lastWords(this.deps.store, view, rules.thresholds.last_turns ?? 0);
    const query = [view.eventText, ...last.asked].join("\n").trim();
    if (limit === 0 || query === "") return emptyAnswer;
    // What waits has no partition yet.
    const pending = view.isDryRun
      ? await this.deps.store.countPending(view.tenantId)
      : await this.deps.indexer.catchUp(view.tenantId, signal);
    const folded = await this.foldedScope(view);
    const found: SearchHit[] = [];
    const about: WeighedText[] = [];
    const notes = pending > 0 ? [`${pending} texts wait to be indexed`] : [];
    for (const scope of [await this.archivalScope(view), folded]) {
      if (!scope || scope.partitions.length === 0) continue;
      const answer = await this.find(view, query, scope, limit, signal);
      const coverage = rules.thresholds.coverage ?? memoryRules.thresholds.coverage!;
      const near = view.recall.threshold ?? defaultSimilarity;
      const telling = answer.hits.filter((hit) => isTelling(hit, answer, coverage, near));
      found.push(...telling);
      if (scope === folded) about.push(...telling.map((hit) => ({ hit, weight: hit.coverage })));
      if (answer.note !== "") notes.push(answer.note);
      if (answer.mode === "keyword") notes.push("by keywords: the similarity threshold was not applied");
    }
    const shown = new ShownWords(view.history);
    if (folded) {
      found.push(...(await this.named(view, folded, last.newest, signal)));
      about.push(...(await this.naming(view, folded, signal)));
    }
    const sent = found.length > 0 ? await sentContexts(this.deps.store, view) : [];
    const exchanges = await withExchanges(this.deps.store, view.tenantId, unseen(found, sent), view.history);
    const room = roomFor(view, rules, sent);
    const names = unshownNames(about, shown, room * namesShare);
    const more = names.length > 0 ? [namesBlock(names, view, rules)] : [];
    const left = more.reduce((tokens, block) => tokens - namesTokens(block), room);
    const blocks = [...more, ...fitMemories(exchanges, view, rules, limit, left)];
    return { blocks, detail: [...new Set(notes)].join("; ") };
  }

  /** Folded texts that have an identifier of the event. */
  private async naming(view: SourceView, folded: Scope, signal: AbortSignal): Promise<WeighedText[]> {
    const identifiers = identifiersIn(view.eventText).slice(0, maxIdentifiers);
    if (identifiers.length === 0) return [];
    const { hits } = await this.find(view, identifiers.join(" "), folded, maxNaming, signal);
    return hits
      .filter(({ terms }) => terms.some(isCompound))
      .map((hit) => ({ hit, weight: namingWeight * hit.coverage }));
  }

  /** Folded texts with what the event or the last turn names, and no other turn that is shown has. */
  private async named(
    view: SourceView,
    folded: Scope,
    lastTurn: string,
    signal: AbortSignal,
  ): Promise<SearchHit[]> {
    const { headTurnId, history } = view;
    const turns = new Set((history?.turns ?? []).map(({ turnId }) => turnId));
    const others = new ShownWords(history, ({ turnId }) => turnId !== headTurnId && turns.has(turnId));
    const hits: SearchHit[] = [];
    const identifiers = identifiersIn(`${view.eventText}\n${lastTurn}`).slice(0, maxIdentifiers);
    for (const identifier of identifiers) {
      if (others.has(identifier)) continue;
      const found = await this.find(view, identifier, folded, textsPerIdentifier, signal);
      hits.push(...found.hits.filter(({ terms }) => terms.some(isCompound)));
    }
    return hits;
  }

  private find(
    view: SourceView,
    query: string,
    scope: Scope,
    limit: number,
    signal: AbortSignal,
  ): Promise<SearchAnswer> {
    return search(
      this.deps,
      view.tenantId,
      {
        query,
        actor: { kind: ActorKind.SYSTEM, name: "" },
        kinds: new Set(["archival", "message"]),
        scope,
        mode: "auto",
        limit,
        similarityThreshold: view.recall.threshold ?? defaultSimilarity,
        nowMs: view.nowMs,
        // Whoever asks has caught up, or only counted what waits.
        pending: 0,
      },
      signal,
    );
  }

  /** The agent's own entries. A worker sees its task only. */
  private async archivalScope({ tenantId, agent, role }: SourceView): Promise<Scope | undefined> {
    if (agent === "" || role === AgentRole.WORKER) return undefined;
    const owner = { kind: "archival", ownerKind: OwnerKind.AGENT, ownerName: agent } as const;
    const partitions = await this.deps.store.partitions(tenantId, [owner], 1);
    return { partitions, onlyBlocks: new Map(), thread: undefined };
  }

  private async wholeThread(view: SourceView, upTo?: Omit<ScopeRange, "branchId">): Promise<Scope> {
    const { store } = this.deps;
    const session = await store.session(view.tenantId, view.sessionId);
    const ranges = session ? await store.thread(view.tenantId, session.headBranchId, session.headDepth) : [];
    const cut = ranges.map((range) =>
      upTo && range.toDepth >= upTo.toDepth ? { ...range, ...upTo } : range,
    );
    return scopeOfThread(store, view.tenantId, cut);
  }

  /** What is before the first message that history shows. */
  private async foldedScope(view: SourceView): Promise<Scope | undefined> {
    const { compactionId = "", firstDepth = 0, firstMessage = 0 } = view.history ?? {};
    if (compactionId === "" || (firstDepth === 1 && firstMessage === 0)) return undefined;
    if (firstDepth === 0) return this.wholeThread(view);
    return this.wholeThread(view, { toDepth: firstDepth, beforeMessage: firstMessage });
  }
}

/** What recall may use: its own limit, and of the lane for memory what recalled texts in shown turns leave of it. */
function roomFor(view: SourceView, rules: SourceRules, sent: readonly string[]): number {
  return Math.min(
    mostTokens(rules, view.contextTokens),
    Math.max(0, view.budgetTokens - aboutTokensOf(recalledIn(sent, view.texts))),
  );
}

const none: readonly OfferedSource[] = [];

/** Offers recall where there is something to recall: entries of the agent, or turns of the session that a summary stands for. */
export class MemoryProvider implements SourceOffer {
  readonly offered: readonly OfferedSource[];
  private readonly source: MemorySource;

  constructor(private readonly deps: RecallDeps) {
    this.source = new MemorySource(deps);
    this.offered = [{ source: this.source, defaults: memoryRules }];
  }

  active(
    tenantId: string,
    agent: string,
    _rulesOf: unknown,
    { holdsCompactions, foldedTokens }: AskingSession,
  ): Soon<readonly OfferedSource[]> {
    const found = agent === "" ? 0 : this.deps.store.archivalTokens(tenantId, agent);
    const offer = (kept: number): readonly OfferedSource[] =>
      kept === 0 && !holdsCompactions
        ? none
        : [{ source: this.source, defaults: memoryRules, knownTokens: kept + foldedTokens }];
    return found instanceof Promise ? found.then(offer) : offer(found);
  }
}
