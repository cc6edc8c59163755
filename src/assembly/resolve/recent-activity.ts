import { toMicroseconds } from "../../domain/clock.js";
import { RevisionKind } from "../../domain/memory.js";
import { type Soon, together } from "../../domain/soon.js";
import type { LedgerDeps } from "../../ledger/deps.js";
import type { BlockReader, RecentChange } from "../../memory/block-reader.js";
import type { SubAgentTurn } from "../../storage/ledger/thread-store.js";
import type { Pin } from "./pin.js";

/** Something that happened beside the session's own turns. */
export type ActivityEntry = { readonly atUs: bigint } & (
  | { readonly $case: "change"; readonly change: RecentChange }
  | { readonly $case: "turn"; readonly turn: SubAgentTurn }
);

export interface RecentActivity {
  /** The oldest first. */
  readonly entries: readonly ActivityEntry[];
  /** How many more there were, older than these. */
  readonly leftOut: number;
  readonly sinceMs: number;
}

interface About {
  readonly tenantId: string;
  readonly agent: string;
  readonly session: { readonly id: string };
  readonly hasSubAgents: boolean;
  readonly pin: Pin | undefined;
  readonly nowMs: number;
}

interface ActivityDeps {
  readonly blocks: BlockReader;
  readonly ledger: Pick<LedgerDeps, "threads">;
}

/** How far a context looks back that has none before it. */
const firstLookMs = 24 * 60 * 60 * 1_000;

/**
 * What others did since the context before, so that each thing is told once: changes of the blocks that the agent can use, and turns
 * of the session's sub-agents. What the agent did itself is no news to it. In a first context, neither is that blocks exist.
 */
export function recentActivity(
  { blocks, ledger }: ActivityDeps,
  { tenantId, agent, session, hasSubAgents, pin, nowMs }: About,
  limit: number,
): Soon<RecentActivity> {
  const sinceMs = pin?.receipt.createTime?.getTime() ?? nowMs - firstLookMs;
  if (limit <= 0) return { entries: [], leftOut: 0, sinceMs };
  const sinceUs = toMicroseconds(sinceMs);
  const found = together(
    () => blocks.changesByOthers(tenantId, agent, sinceUs),
    () => (hasSubAgents ? ledger.threads.subAgentTurns(tenantId, session.id, sinceUs) : noTurns),
  );
  const choose = ([changes, turns]: [readonly RecentChange[], readonly SubAgentTurn[]]) =>
    newest(changes, turns, pin === undefined, limit, sinceMs);
  return found instanceof Promise ? found.then(choose) : choose(found);
}

const noTurns: readonly SubAgentTurn[] = [];

function newest(
  changes: readonly RecentChange[],
  turns: readonly SubAgentTurn[],
  isFirst: boolean,
  limit: number,
  sinceMs: number,
): RecentActivity {
  if (changes.length === 0 && turns.length === 0) return { entries: [], leftOut: 0, sinceMs };
  const entries: ActivityEntry[] = [
    ...changes
      .filter(({ kind }) => !isFirst || kind !== RevisionKind.CREATE)
      .map((change) => ({ $case: "change" as const, change, atUs: change.atUs })),
    ...turns.map((turn) => ({ $case: "turn" as const, turn, atUs: turn.completedUs })),
  ].sort(byTime);
  const leftOut = Math.max(0, entries.length - limit);
  return { entries: entries.slice(leftOut), leftOut, sinceMs };
}

/** What happened at the same moment is in an order of its own, so that every server tells the same. */
function byTime(a: ActivityEntry, b: ActivityEntry): number {
  if (a.atUs !== b.atUs) return a.atUs < b.atUs ? -1 : 1;
  const [left, right] = [nameOf(a), nameOf(b)];
  return left === right ? 0 : left < right ? -1 : 1;
}

function nameOf(entry: ActivityEntry): string {
  if (entry.$case === "turn") return JSON.stringify([1, entry.turn.label]);
  const { owner, label, actor } = entry.change;
  return JSON.stringify([0, owner.kind, owner.name, label, actor.kind, actor.name]);
}
