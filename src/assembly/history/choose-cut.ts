import type { CompactionGoal } from "../../compaction/plan/goal.js";
import { modelTokens } from "../../domain/token-units.js";
import { keepsMore } from "../../ledger/effective-cut.js";
import { heldBy } from "../../ledger/effective-thread.js";
import { abandonedBy, openCallsOf } from "../../ledger/open-calls.js";
import { unscaled } from "../../models/token-scale.js";
import type { HeldCompaction, HeldRow } from "../../storage/ledger/held-compactions.js";
import {
  madeUpCounts,
  noCounts,
  plusCounts,
  shownTokens,
  type ThreadCounts,
} from "../../thread/thread-counts.js";
import { isWarm } from "../resolve/pin.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { type HistoryDeps, isClean } from "./history.js";

/** What of a resolved request it needs. */
export type CutInput = Pick<
  ResolvedContext,
  | "activeTurn"
  | "head"
  | "holdsCompactions"
  | "model"
  | "modelName"
  | "nowMs"
  | "pin"
  | "request"
  | "scale"
  | "settings"
  | "thread"
>;

/** What history may cost. */
interface CutRoom {
  readonly tokens: number;
  readonly messages: number;
}

/** What shows less than this share of the target is not worth keeping for the sake of an old cut. */
const leastShare = 0.5;

/**
 * The cut to begin with. That of the context before stays. Only where the provider's cache is lost anyway may one that keeps more return, and only
 * where history stays at or below the soft threshold of its room; and where the room has grown so much that all of what it was when the present
 * cut was chosen is at or below that threshold, beside as much as there was then. So no cut comes back that was left for want of room, however
 * events and tools change in size.
 *
 * Without a context before, the one that keeps most at or below the soft threshold; where there is none, the one that keeps least. One that keeps
 * far less than the target was made for a smaller window: then the floor, from which a cut of this window's own is made.
 */
export async function chooseCut(
  deps: HistoryDeps,
  resolved: CutInput,
  goal: CompactionGoal,
  otherTokens: number,
  isRewritten: boolean,
  mayFold: boolean,
): Promise<HeldRow | undefined> {
  const { pin, thread, settings } = resolved;
  const current = thread.compaction;
  if (!resolved.holdsCompactions) return current;
  const { softThreshold } = settings.compaction;
  const messages = softThreshold * goal.roomMessages;
  if (!pin) {
    // Without a context before, the present cut is the floor.
    const room = { tokens: softThreshold * goal.roomTokens, messages };
    if (isWithin(resolved, current, room)) return current;
    const found = await mostWithin(deps, resolved, room, current);
    const little = { tokens: leastShare * goal.targetTokens, messages: leastShare * goal.targetMessages };
    if (found && mayFold && isWithin(resolved, found, little)) return current;
    const least = found ?? (await deps.ledger.compactions.keepingLeast(heldBy(thread)));
    if (!least || (current && keepsMore(least, current))) return current;
    return deps.ledger.compactions.held(heldBy(thread), least.id);
  }
  if (!current || !(isRewritten || !isWarm(resolved, pin))) return current;
  const before = pin.receipt.cut;
  const more = Math.max(0, (before?.otherTokens ?? 0) - otherTokens);
  const tokens = softThreshold * (goal.roomTokens - unscaled(resolved.scale, modelTokens(more)));
  if (!before || before.roomTokens === 0 || before.roomTokens > tokens) return current;
  const room = { tokens, messages };
  const floor = await deps.ledger.compactions.floor(heldBy(thread), resolved.modelName);
  if (floor && !keepsMore(floor, current)) return current;
  if (isWithin(resolved, floor, room)) return floor && deps.ledger.compactions.held(heldBy(thread), floor.id);
  const found = await mostWithin(deps, resolved, room, floor);
  return found && keepsMore(found, current)
    ? deps.ledger.compactions.held(heldBy(thread), found.id)
    : current;
}

/** Of the cuts in force that keep less than the one that is given, the one that keeps most within a room. */
export async function mostWithin(
  deps: HistoryDeps,
  resolved: CutInput,
  room: CutRoom,
  than: HeldCompaction | undefined,
): Promise<HeldCompaction | undefined> {
  if (!resolved.holdsCompactions) return undefined;
  const { threadTokens, threadContextTokens } = wholeCounts(resolved);
  const whole = isClean(resolved) ? threadTokens - threadContextTokens : threadTokens;
  const least = whole - BigInt(Math.max(0, Math.floor(room.tokens)));
  return deps.ledger.compactions.keepingMost(
    heldBy(resolved.thread),
    least,
    (held) => held.appliedUs !== null && isWithin(resolved, held, room) && (!than || keepsMore(than, held)),
  );
}

/** Whether history is within a room with a cut, by what is counted with the turns. */
function isWithin(resolved: CutInput, cut: HeldCompaction | undefined, room: CutRoom): boolean {
  const counts = wholeCounts(resolved);
  const messages = Number(counts.threadMessages - (cut?.beforeMessages ?? 0n)) + (cut ? 1 : 0);
  return shownTokens(counts, cut, isClean(resolved)) <= room.tokens && messages <= room.messages;
}

/** What the thread costs as a whole, with what is made up for calls that are open at its end. */
function wholeCounts({ head, activeTurn }: CutInput): ThreadCounts {
  const open = activeTurn
    ? [...abandonedBy(activeTurn), ...openCallsOf(activeTurn)]
    : head
      ? openCallsOf(head)
      : [];
  const finished = plusCounts(head ?? noCounts, activeTurn ?? noCounts);
  return plusCounts(finished, madeUpCounts(open.length));
}
