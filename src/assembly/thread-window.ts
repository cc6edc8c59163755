import type { PromptTexts } from "../domain/prompt-texts.js";
import { type OpenItem, OpenItemKind } from "../domain/turn.js";
import type { LedgerDeps } from "../ledger/deps.js";
import { decodeMessages } from "../ledger/message-codec.js";
import { countMessages } from "../ledger/message-text.js";
import { OpenState } from "../ledger/open-state.js";
import type { CompactionRow, ParentTurn, SessionHead, TurnRow } from "../storage/ledger/rows.js";
import type { StoredTurnMessages, ThreadSegment } from "../storage/ledger/thread-store.js";
import type { Vocabulary } from "../tokens/vocabulary.js";
import { unansweredTokens } from "./history-bytes.js";
import type { TemplateSource } from "./templates.js";
import { countedFacts, factsFrom, factsOf, type TurnFacts } from "./turn-facts.js";

/** A turn that may go into the history. */
export interface WindowTurn {
  readonly stored: StoredTurnMessages;
  /** Of its messages from `from` on. */
  readonly facts: TurnFacts;
  /** The first message that is shown: above 0 where those before it are in a summary. */
  readonly from: number;
  readonly tokens: number;
  /** What its tokens are counted with. */
  readonly vocabulary: Vocabulary;
  /** Calls that nobody will answer, for which a result is made up so that the history stays valid. */
  readonly unanswered: readonly string[];
  readonly isActive: boolean;
  /** The words for what is left out of it or made up. */
  readonly texts: PromptTexts;
}

/** The thread that ends at a session's head, or goes on in an open turn. */
export interface ThreadAt {
  readonly tenantId: string;
  readonly session: SessionHead;
  readonly epoch: number;
  readonly head: ParentTurn | undefined;
  readonly activeTurn: TurnRow | undefined;
  /** The words for what is left out or made up; those in force where nobody says. */
  readonly texts?: PromptTexts;
}

/** The summary that a thread begins with, and the runs of its turns. */
export interface EffectiveThread extends ThreadAt {
  readonly segments: readonly ThreadSegment[];
  readonly compaction: CompactionRow | undefined;
  /** What its tokens are counted with; o200k_base where nothing else is said. */
  readonly vocabulary?: Vocabulary;
  readonly texts: PromptTexts;
}

/** The newest turns of a thread, newest first, as many as can matter; and whether that is all that is kept of it. */
export interface ThreadWindow {
  readonly newestFirst: readonly WindowTurn[];
  readonly tokens: number;
  readonly wholeThread: boolean;
  /** The turns of the thread that were not read, and that no summary stands for. */
  readonly unreadTurns: number;
  readonly compaction: CompactionRow | undefined;
  /** The same thread as it is without a summary. */
  withoutSummary(): Promise<ThreadWindow>;
}

const pageTurns = 64;

/** The thread with the compaction that applies to it. */
export async function findEffective(deps: WindowDeps, thread: ThreadAt): Promise<EffectiveThread> {
  const { tenantId, head, activeTurn } = thread;
  const segments =
    head?.branchId && head.depth
      ? await deps.ledger.threads.segments(tenantId, { branchId: head.branchId, depth: head.depth })
      : [];
  const compaction = await deps.ledger.compactions.latest(tenantId, {
    segments,
    activeTurn,
  });
  const texts = thread.texts ?? (await deps.templates.current()).texts;
  return { ...thread, segments, compaction, texts };
}

/** What reading a thread needs. */
export interface WindowDeps {
  readonly ledger: LedgerDeps;
  readonly templates: TemplateSource;
}

/**
 * Reads from the newest turn back until more than so many tokens are there, at least so many turns, and a place where history can
 * begin. Reads nothing that is older, and nothing that a summary stands for.
 */
export async function readWindow(
  deps: WindowDeps,
  thread: EffectiveThread,
  clean: boolean,
  tokens: number,
  minTurns: number,
  signal?: AbortSignal,
): Promise<ThreadWindow> {
  const { tenantId, session, epoch, activeTurn, head, texts, vocabulary = "o200k_base" } = thread;
  const compaction = await countedSummary(deps, thread.compaction, vocabulary, signal);
  const newestFirst: WindowTurn[] = [];
  let total = 0;
  const add = (
    stored: StoredTurnMessages,
    whole: TurnFacts,
    unanswered: readonly string[],
    isActive: boolean,
  ) => {
    const from = keptFrom(stored, compaction);
    const facts = from > 0 ? factsFrom(whole, from) : whole;
    const made = unansweredTokens({ unanswered, texts, vocabulary });
    const own = (clean ? facts.cleanTokens : facts.sentTokens) + made;
    total += own;
    newestFirst.push({ stored, facts, from, tokens: own, vocabulary, unanswered, isActive, texts });
  };
  const active =
    activeTurn && (await readActive(deps, tenantId, activeTurn, session.headDepth + 1, vocabulary));
  if (active) add(active.stored, active.facts, callIds(OpenState.parse(activeTurn.openStateJson).open), true);
  const summarized = compaction?.summarizedTurns ?? 0;
  const depth = session.headDepth;
  const isDone = () =>
    total > tokens && newestFirst.length >= minTurns && canBegin(newestFirst.at(-1)!.facts);
  let unanswered = active
    ? abandonedBy(activeTurn)
    : head
      ? callIds(OpenState.parse(head.openStateJson).open)
      : [];
  let oldest = depth + 1;
  for (const segment of thread.segments.toReversed()) {
    const fromDepth = Math.max(segment.fromDepth, summarized + 1);
    for (let to = segment.toDepth; to >= fromDepth && !isDone(); ) {
      const from = Math.max(fromDepth, Math.floor((to - 1) / pageTurns) * pageTurns + 1);
      const page: StoredTurnMessages[] = [];
      const part = { ...segment, fromDepth: from, toDepth: to };
      for await (const turns of deps.ledger.cache.read(tenantId, epoch, part)) {
        signal?.throwIfAborted();
        page.push(...turns);
      }
      for (let index = page.length - 1; index >= 0 && !isDone(); index--) {
        const stored = page[index]!;
        const facts = await countedFacts(deps.ledger.counter, stored, vocabulary, signal);
        add(stored, facts, unanswered, false);
        oldest = stored.depth;
        unanswered = facts.mayAbandon ? await givenUpBy(deps, tenantId, stored.turnId, facts) : [];
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
      readWindow(deps, { ...thread, compaction: undefined }, clean, tokens, minTurns, signal),
  };
}

/** The summary with its tokens counted in a vocabulary. Those of o200k are stored. */
async function countedSummary(
  deps: WindowDeps,
  compaction: CompactionRow | undefined,
  vocabulary: Vocabulary,
  signal: AbortSignal | undefined,
): Promise<CompactionRow | undefined> {
  if (!compaction || vocabulary === "o200k_base") return compaction;
  const messages = decodeMessages(compaction.wire);
  const [tokens] = await countMessages(deps.ledger.counter, messages, signal, vocabulary);
  return { ...compaction, summaryTokens: tokens!.parts };
}

/** The first message of a turn that no summary stands for. */
function keptFrom(stored: StoredTurnMessages, compaction: CompactionRow | undefined): number {
  return compaction?.firstKeptTurnId === stored.turnId ? compaction.firstKeptMessageIndex : 0;
}

/** A finished turn, without the messages that a summary stands for. */
export function shownTurn(
  stored: StoredTurnMessages,
  { compaction, texts }: Pick<EffectiveThread, "compaction" | "texts">,
): WindowTurn {
  const from = keptFrom(stored, compaction);
  const whole = factsOf(stored);
  const facts = from > 0 ? factsFrom(whole, from) : whole;
  return { stored, facts, from, tokens: 0, vocabulary: "o200k_base", unanswered: [], isActive: false, texts };
}

/** Whether history can begin at the turn, or inside it. */
function canBegin(facts: TurnFacts): boolean {
  return facts.startsClean || facts.messages.some(({ role }, index) => role === "A" && index > 0);
}

/** The open turn as it was when the request was resolved; what was appended since is left out. Undefined without messages to send. */
async function readActive(
  deps: WindowDeps,
  tenantId: string,
  turn: TurnRow,
  depth: number,
  vocabulary: Vocabulary,
) {
  const rows = (await deps.ledger.threads.findMessages(tenantId, turn.id)).filter(
    (row) => row.firstIndex < turn.messageCount,
  );
  const wires = rows.map((row) => Buffer.from(row.wire));
  const indexes = rows.map((row) => row.indexJson);
  const stored = { turnId: turn.id, depth, wires, indexes };
  const facts = await countedFacts(deps.ledger.counter, stored, vocabulary);
  return facts.spokenMessages > 0 ? { stored, facts } : undefined;
}

/** Calls of the turn before that this turn gave up. */
export async function givenUpBy(
  deps: WindowDeps,
  tenantId: string,
  turnId: string,
  facts: TurnFacts,
): Promise<readonly string[]> {
  if (!facts.mayAbandon) return [];
  const row = await deps.ledger.threads.findTurn(tenantId, turnId);
  return row ? abandonedBy(row) : [];
}

function abandonedBy(turn: TurnRow): readonly string[] {
  return callIds(JSON.parse(turn.abandonedItemsJson) as OpenItem[]);
}

export function callIds(items: readonly OpenItem[]): string[] {
  return items.filter((item) => item.kind === OpenItemKind.TOOL_CALL).map((item) => item.id);
}
