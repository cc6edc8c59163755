import { type OpenItem, OpenItemKind } from "../domain/turn.js";
import { OpenState } from "../ledger/open-state.js";
import type { TurnRow } from "../storage/ledger/rows.js";
import type { StoredTurnMessages } from "../storage/ledger/thread-store.js";
import type { AssemblyDeps } from "./deps.js";
import { unansweredTokens } from "./history-bytes.js";
import type { ResolvedContext } from "./resolve.js";
import { factsOf, readFacts, type TurnFacts } from "./turn-facts.js";

/** A turn that may go into the history. */
export interface WindowTurn {
  readonly stored: StoredTurnMessages;
  readonly facts: TurnFacts;
  readonly tokens: number;
  /** Calls that nobody will answer, for which a result is made up so that the history stays valid. */
  readonly unanswered: readonly string[];
  readonly isActive: boolean;
}

/** The newest turns of a thread, newest first, as many as can matter; and whether that is all of them. */
export interface ThreadWindow {
  readonly newestFirst: readonly WindowTurn[];
  readonly wholeThread: boolean;
  /** The turns of the thread that were not read. */
  readonly unreadTurns: number;
}

const pageTurns = 64;

/**
 * Reads from the newest turn back until more than so many tokens are there, at least so many turns, and a place where history can
 * begin. Reads nothing that is older.
 */
export async function readWindow(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  clean: boolean,
  tokens: number,
  minTurns: number,
  signal?: AbortSignal,
): Promise<ThreadWindow> {
  const { tenantId, session, epoch, activeTurn, head } = resolved;
  const newestFirst: WindowTurn[] = [];
  let total = 0;
  const add = (
    stored: StoredTurnMessages,
    facts: TurnFacts,
    unanswered: readonly string[],
    isActive: boolean,
  ) => {
    const own = (clean ? facts.cleanTokens : facts.sentTokens) + unansweredTokens(unanswered.length);
    total += own;
    newestFirst.push({ stored, facts, tokens: own, unanswered, isActive });
  };
  const active = activeTurn && (await readActive(deps, tenantId, activeTurn, session.headDepth + 1));
  if (active) add(active.stored, active.facts, callIds(OpenState.parse(activeTurn.openStateJson).open), true);
  const depth = session.headDepth;
  const isDone = () =>
    total > tokens && newestFirst.length >= minTurns && canBegin(newestFirst.at(-1)!.facts);
  let unanswered = active
    ? abandonedBy(activeTurn)
    : head
      ? callIds(OpenState.parse(head.openStateJson).open)
      : [];
  let oldest = depth + 1;
  if (depth > 0 && head?.branchId) {
    const segments = await deps.ledger.threads.segments(tenantId, { branchId: head.branchId, depth });
    for (const segment of segments.reverse()) {
      for (let to = segment.toDepth; to >= segment.fromDepth && !isDone(); ) {
        const from = Math.max(segment.fromDepth, Math.floor((to - 1) / pageTurns) * pageTurns + 1);
        const page: StoredTurnMessages[] = [];
        const part = { ...segment, fromDepth: from, toDepth: to };
        for await (const turns of deps.ledger.cache.read(tenantId, epoch, part)) {
          signal?.throwIfAborted();
          page.push(...turns);
        }
        for (let index = page.length - 1; index >= 0 && !isDone(); index--) {
          const stored = page[index]!;
          const facts = factsOf(stored);
          add(stored, facts, unanswered, false);
          oldest = stored.depth;
          unanswered = facts.mayAbandon ? await givenUpBy(deps, tenantId, stored.turnId, facts) : [];
        }
        to = from - 1;
      }
      if (isDone()) break;
    }
  }
  return { newestFirst, wholeThread: oldest <= 1, unreadTurns: Math.max(0, oldest - 1) };
}

/** Whether history can begin at the turn, or inside it. */
function canBegin(facts: TurnFacts): boolean {
  return facts.startsClean || facts.messages.some(({ role }, index) => role === "A" && index > 0);
}

/** The open turn as it was when the request was resolved; what was appended since is left out. Undefined without messages to send. */
async function readActive(deps: AssemblyDeps, tenantId: string, turn: TurnRow, depth: number) {
  const rows = (await deps.ledger.threads.findMessages(tenantId, turn.id)).filter(
    (row) => row.firstIndex < turn.messageCount,
  );
  const wires = rows.map((row) => Buffer.from(row.wire));
  const indexes = rows.map((row) => row.indexJson);
  const facts = readFacts(indexes);
  return facts.spokenMessages > 0 ? { stored: { turnId: turn.id, depth, wires, indexes }, facts } : undefined;
}

/** Calls of the turn before that this turn gave up. */
export async function givenUpBy(
  deps: AssemblyDeps,
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
