import type { StoredTurn } from "../domain/stored-turn.js";
import { type CountedTokens, countedTokens, plus } from "../domain/token-units.js";
import type { CompactionRow } from "../storage/ledger/rows.js";
import type { ThreadSegment } from "../storage/ledger/thread-store.js";
import { splitPlaces } from "../thread/beginnings.js";
import { decodeMessages } from "../thread/message-codec.js";
import { countMessages } from "../thread/message-text.js";
import { type ShownTurn, shownTurn } from "../thread/shown-turn.js";
import { countedFacts, factsOf, type TurnFacts } from "../thread/turn-facts.js";
import type { Vocabulary } from "../tokens/vocabulary.js";
import type { LedgerDeps } from "./deps.js";
import type { EffectiveThread } from "./effective-thread.js";
import { abandonedBy, givenUpBy, openCallsOf } from "./open-calls.js";
import { readOpenTurn } from "./read-open-turn.js";

/** The newest turns of a thread, newest first, as many as can matter; and whether that is all that is kept of it. */
export interface ThreadWindow {
  readonly newestFirst: readonly ShownTurn[];
  readonly tokens: CountedTokens;
  readonly wholeThread: boolean;
  /** The turns of the thread that were not read, and that no summary stands for. */
  readonly unreadTurns: number;
  readonly compaction: CompactionRow | undefined;
  /** The same thread as it is without a summary. */
  withoutSummary(): Promise<ThreadWindow>;
}

const pageTurns = 64;
const none: readonly string[] = [];

/**
 * Reads from the newest turn back until more than so many tokens are there, at least so many turns, and a place where history can
 * begin. Reads nothing that is older, and nothing that a summary stands for.
 */
export async function readWindow(
  ledger: LedgerDeps,
  thread: EffectiveThread,
  clean: boolean,
  tokens: CountedTokens,
  minTurns: number,
  signal?: AbortSignal,
): Promise<ThreadWindow> {
  const { tenantId, session, epoch, activeTurn, head, texts, vocabulary = "o200k_base" } = thread;
  const compaction =
    thread.compaction && (await countedSummary(ledger, thread.compaction, vocabulary, signal));
  const newestFirst: ShownTurn[] = [];
  let total = countedTokens(0);
  const how = { vocabulary, texts, clean };
  const add = (stored: StoredTurn, whole: TurnFacts, unanswered: readonly string[], isActive: boolean) => {
    const turn = shownTurn(stored, whole, compaction, how, unanswered, isActive);
    total = plus(total, turn.tokens);
    newestFirst.push(turn);
  };
  const active =
    activeTurn && (await readOpenTurn(ledger, tenantId, activeTurn, session.headDepth + 1, vocabulary));
  const isActive = active !== undefined && active.facts.spokenMessages > 0;
  if (isActive) add(active.stored, active.facts, openCallsOf(activeTurn!), true);
  const summarized = compaction?.summarizedTurns ?? 0;
  const depth = session.headDepth;
  const isDone = () =>
    total > tokens && newestFirst.length >= minTurns && canBegin(newestFirst.at(-1)!.facts);
  let unanswered: readonly string[] = isActive ? abandonedBy(activeTurn!) : head ? openCallsOf(head) : none;
  let oldest = depth + 1;
  for (const segment of thread.segments.toReversed()) {
    const fromDepth = Math.max(segment.fromDepth, summarized + 1);
    for (let to = segment.toDepth; to >= fromDepth && !isDone(); ) {
      const from = Math.max(fromDepth, Math.floor((to - 1) / pageTurns) * pageTurns + 1);
      const part = { ...segment, fromDepth: from, toDepth: to };
      const page =
        ledger.cache.kept(tenantId, epoch, part) ?? (await readPage(ledger, tenantId, epoch, part, signal));
      for (let index = page.length - 1; index >= 0 && !isDone(); index--) {
        const stored = page[index]!;
        // A wait for each turn of a long history would cost more than the turns.
        const facts =
          vocabulary === "o200k_base"
            ? factsOf(stored)
            : await countedFacts(ledger.counter, stored, vocabulary, signal);
        add(stored, facts, unanswered, false);
        oldest = stored.depth;
        unanswered = facts.mayAbandon ? await givenUpBy(ledger, tenantId, stored.turnId, facts) : none;
      }
      to = from - 1;
    }
    if (isDone()) break;
  }
  const unreadTurns = Math.max(0, oldest - 1 - summarized);
  return {
    newestFirst,
    tokens: total,
    wholeThread: unreadTurns === 0,
    unreadTurns,
    compaction,
    withoutSummary: () =>
      readWindow(ledger, { ...thread, compaction: undefined }, clean, tokens, minTurns, signal),
  };
}

async function readPage(
  ledger: LedgerDeps,
  tenantId: string,
  epoch: number,
  segment: ThreadSegment,
  signal: AbortSignal | undefined,
): Promise<readonly StoredTurn[]> {
  const page: StoredTurn[] = [];
  for await (const turns of ledger.cache.read(tenantId, epoch, segment)) {
    signal?.throwIfAborted();
    page.push(...turns);
  }
  return page;
}

/** The summary with its tokens counted in a vocabulary. Those of o200k are stored. */
async function countedSummary(
  ledger: LedgerDeps,
  compaction: CompactionRow,
  vocabulary: Vocabulary,
  signal: AbortSignal | undefined,
): Promise<CompactionRow> {
  if (vocabulary === "o200k_base") return compaction;
  const messages = decodeMessages(compaction.wire);
  const [tokens] = await countMessages(ledger.counter, messages, signal, vocabulary);
  return { ...compaction, summaryTokens: tokens!.parts };
}

/** Whether history can begin at the turn, or inside it. */
function canBegin(facts: TurnFacts): boolean {
  return facts.startsClean || splitPlaces(facts.messages).length > 0;
}
