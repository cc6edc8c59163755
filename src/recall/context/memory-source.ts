import { AgentRole } from "../../domain/agent-role.js";
import { ActorKind, OwnerKind } from "../../domain/memory.js";
import { namesIn } from "../../domain/names.js";
import { pausing } from "../../domain/pausing.js";
import type { Soon } from "../../domain/soon.js";
import { SourcePosition } from "../../domain/source.js";
import { stepByStep } from "../../domain/steps.js";
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
import { messageWords } from "../documents/message-words.js";
import { type Scope, scopeOfThread } from "../search/scope.js";
import {
  defaultSimilarity,
  type SearchAnswer,
  type SearchHit,
  type SearchMode,
  search,
} from "../search/search.js";
import { fold, isCompound, termOf } from "../terms/analyse.js";
import { withExchanges } from "./exchange.js";
import { aboutTokensOf, fitMemories } from "./fit-memories.js";
import { foldedNames, lastStepsOf, namesBlock } from "./folded-names.js";
import { lastWords, recalledIn, sentContexts, unseen } from "./shown-texts.js";
import { sentencesIn, tellingHits } from "./telling.js";

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
/** Shorter ones are there by chance. */
const leastNameChars = 4;
/** A message that asks several things may find so many times as much. */
const mostQuestions = 3;
/** In a loop of tools, names are taken from so many texts. */
const textsOfNames = 24;

/**
 * What left the window, or was kept for later, comes back when the event is about it: archival entries of the agent, and messages of
 * turns that history no longer shows. Nothing where nothing matches.
 */
export class MemorySource implements Source {
  readonly name = "memory";
  readonly isAfterHistory = true;
  readonly speaksInToolLoops = true;

  constructor(private readonly deps: RecallDeps) {}

  async fetch(view: SourceView, rules: SourceRules, { signal }: Waiting): Promise<SourceAnswer> {
    const { limit } = view.recall;
    if (view.isInToolLoop) {
      const isOff = limit === 0 || view.texts["memory-names"].trim() === "";
      return isOff ? emptyAnswer : this.namesFor(view, rules, signal);
    }
    const last = await lastWords(this.deps.store, view, rules.thresholds.last_turns ?? 0);
    const query = [view.eventText, ...last.asked].join("\n").trim();
    if (limit === 0 || query === "") return emptyAnswer;
    // What waits has no partition yet.
    const pending = view.isDryRun
      ? await this.deps.store.countPending(view.tenantId)
      : await this.deps.indexer.catchUp(view.tenantId, signal);
    const folded = await this.foldedScope(view);
    const found: SearchHit[] = [];
    const questions = Math.min(mostQuestions, Math.max(1, sentencesIn(query)));
    const notes = pending > 0 ? [`${pending} texts wait to be indexed`] : [];
    for (const scope of [await this.archivalScope(view), folded]) {
      if (!scope || scope.partitions.length === 0) continue;
      const answer = await this.find(view, rules, query, scope, limit * questions, signal);
      found.push(...this.telling(answer, view, rules));
      if (answer.note !== "") notes.push(answer.note);
      if (answer.mode === "keyword") notes.push("by keywords: the similarity threshold was not applied");
    }
    const told = (view.history?.summary() ?? []).map(messageWords).join("\n");
    if (folded) {
      const words = [view.eventText, last.newest].join("\n");
      found.push(...(await this.named(view, rules, folded, words, told, signal)));
    }
    const sent = found.length > 0 ? await sentContexts(this.deps.store, view) : [];
    const exchanges = await withExchanges(
      this.deps.store,
      view.tenantId,
      unseen(found, sent, told),
      view.history?.firstDepth ?? 0,
    );
    const room = roomFor(view, rules, sent);
    const { blocks, withoutRoom } = fitMemories(exchanges, view, rules, limit, room);
    if (withoutRoom > 0) notes.push(`no room for ${withoutRoom} of what was found`);
    return { blocks, detail: [...new Set(notes)].join("; ") };
  }

  private telling(answer: SearchAnswer, view: SourceView, { thresholds }: SourceRules): SearchHit[] {
    const coverage = thresholds.coverage ?? memoryRules.thresholds.coverage!;
    return tellingHits(answer, { coverage, cosine: view.recall.threshold ?? defaultSimilarity });
  }

  /** What a model that goes on in a loop of tools may need by name, out of folded turns about what it did last. */
  private async namesFor(view: SourceView, rules: SourceRules, signal: AbortSignal): Promise<SourceAnswer> {
    const { history } = view;
    if (!view.isDryRun) await this.deps.indexer.catchUp(view.tenantId, signal);
    const folded = await this.foldedScope(view);
    if (!history || !folded || folded.partitions.length === 0) return emptyAnswer;
    const did = lastStepsOf(history);
    const answer = await this.find(view, rules, did, folded, textsOfNames, signal, "keyword");
    const hits = this.telling(answer, view, rules);
    const room = roomFor(view, rules, await sentContexts(this.deps.store, view));
    const names = await stepByStep(foldedNames(hits, history, room, this.deps.names), pausing(signal));
    return names.length === 0 ? emptyAnswer : { blocks: [namesBlock(names, view, rules)] };
  }

  /** Turns that name what the event or the last turn names, and neither history nor its summary shows. */
  private async named(
    view: SourceView,
    rules: SourceRules,
    folded: Scope,
    words: string,
    told: string,
    signal: AbortSignal,
  ): Promise<SearchHit[]> {
    const names = [...namesIn(words)].filter((name) => name.length >= leastNameChars && !told.includes(name));
    if (names.length === 0) return [];
    const firstDepth = view.history?.firstDepth ?? 0;
    const isShown = ({ document }: SearchHit) => (document.depth ?? 0) >= firstDepth;
    const thread = await this.wholeThread(view);
    const hits: SearchHit[] = [];
    for (const name of names.slice(0, maxIdentifiers)) {
      const everywhere = await this.find(view, rules, name, thread, maxIdentifiers, signal);
      const whole = termOf(fold(name));
      const own = everywhere.hits.filter(({ terms }) =>
        terms.some((term) => isCompound(term) || term === whole),
      );
      const isHere = own.some((hit) => isShown(hit) && hit.document.refId !== view.headTurnId);
      if (!isHere) hits.push(...own.filter((hit) => !isShown(hit)).slice(0, 2));
    }
    return hits.filter(({ document }) => isWithin(folded, document));
  }

  private find(
    view: SourceView,
    { deadlineMs }: SourceRules,
    query: string,
    scope: Scope,
    limit: number,
    signal: AbortSignal,
    mode: SearchMode = "auto",
  ): Promise<SearchAnswer> {
    return search(
      this.deps,
      view.tenantId,
      {
        query,
        actor: { kind: ActorKind.SYSTEM, name: "" },
        kinds: new Set(["archival", "message"]),
        scope,
        mode,
        limit,
        similarityThreshold: view.recall.threshold ?? defaultSimilarity,
        nowMs: view.nowMs,
        // So that there is time left to go by words alone.
        vectorWaitMs: deadlineMs / 2,
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

  private async wholeThread(view: SourceView, upTo = Number.MAX_SAFE_INTEGER): Promise<Scope> {
    const { store } = this.deps;
    const session = await store.session(view.tenantId, view.sessionId);
    const ranges = session ? await store.thread(view.tenantId, session.headBranchId, session.headDepth) : [];
    const cut = ranges.map(({ branchId, toDepth }) => ({ branchId, toDepth: Math.min(toDepth, upTo) }));
    return scopeOfThread(store, view.tenantId, cut);
  }

  /** The turns before the first that history shows. */
  private async foldedScope(view: SourceView): Promise<Scope | undefined> {
    const first = view.history?.firstDepth || Number.MAX_SAFE_INTEGER;
    if (first <= 1 || (view.history?.compactionId ?? "") === "") return undefined;
    return this.wholeThread(view, first - 1);
  }
}

function isWithin({ thread }: Scope, document: SearchHit["document"]): boolean {
  return (thread ?? []).some(
    ({ branchId, toDepth }) => document.branchId === branchId && (document.depth ?? 0) <= toDepth,
  );
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
