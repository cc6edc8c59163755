import { fromMicroseconds, type Ids, toMicroseconds } from "../domain/clock.js";
import { chainHash, sha256 } from "../domain/hash.js";
import { type Message, MessageRole, type Part } from "../domain/message.js";
import { type HeadMoveCause, OnHeadMoved } from "../domain/session.js";
import { countedTokens } from "../domain/token-units.js";
import { type AgentResult, emptyTurnDetails, type TurnDetails, TurnStatus } from "../domain/turn.js";
import { type Warning, WarningKind, warning } from "../domain/warning.js";
import { QuireError } from "../errors/quire-error.js";
import type { LockedSession } from "../storage/ledger/lock-sessions.js";
import {
  type BranchRow,
  type HeadMoveRow,
  type MessageRow,
  noLease,
  type ParentTurn,
  type PinRow,
  type SessionHead,
  type SessionLease,
  type TurnRow,
} from "../storage/ledger/rows.js";
import { sessionNotFound } from "../storage/ledger/session-store.js";
import type { TurnState } from "../storage/ledger/write-turns.js";
import { type EncodedMessages, encodeMessages } from "../thread/message-codec.js";
import { MessageFlag } from "../thread/message-index.js";
import { approximateBytes, countMessages, type MessageTokens } from "../thread/message-text.js";
import { OpenState } from "../thread/open-state.js";
import {
  type CountedMessage,
  countsOf,
  madeUpCounts,
  noCounts,
  plusCounts,
} from "../thread/thread-counts.js";
import { checkParts, type LocatedMessage } from "./check-messages.js";
import type { LedgerDeps } from "./deps.js";
import { requireFree } from "./lease.js";
import { abandonedBy } from "./open-calls.js";

type Bytes = NonNullable<TurnRow["contentHash"]>;

/** Messages that were checked and counted, on their way into a turn. */
export interface MessageDraft {
  readonly located: readonly LocatedMessage[];
  readonly tokens: readonly MessageTokens[];
  readonly ids: readonly string[];
  readonly nowUs: bigint;
  /** About how many bytes will be written. */
  readonly bytes: number;
  /** Whether the first of them answers a request of its own, directly after another answer. */
  readonly isPrompted?: boolean;
}

/** Where a new turn goes, and how it begins. */
export interface NewTurn {
  readonly session: string;
  /** Undefined for whatever the session's head is; empty for none. */
  readonly parentTurnId?: string | undefined;
  readonly onHeadMoved: OnHeadMoved;
  readonly details: TurnDetails | undefined;
  readonly abandonOpenItems: boolean;
  /** The assembly that the turn says it answers to. */
  readonly assemblyId?: string | undefined;
}

export function locate(messages: readonly Message[], field: string): LocatedMessage[] {
  return messages.map((message, index) => ({ message, field: `${field}[${index}]` }));
}

/** All that can be done before the transaction. */
export async function draftMessages(
  deps: LedgerDeps,
  located: readonly LocatedMessage[],
  signal: AbortSignal | undefined,
): Promise<MessageDraft> {
  checkParts(located);
  const messages = located.map((entry) => entry.message);
  const tokens = await countMessages(deps.counter, messages, signal);
  return {
    located,
    tokens,
    ids: messages.map(() => deps.ids.next()),
    nowUs: toMicroseconds(deps.clock.now()),
    bytes: messages.reduce((sum, message) => sum + approximateBytes(message), 1_000),
  };
}

/** The row that holds a draft's messages as a turn's messages from an index on; none for no messages. */
export function messageRow(
  draft: MessageDraft,
  turn: TurnRow,
  firstIndex: number,
  state: OpenState,
): MessageRow | undefined {
  if (draft.located.length === 0) return undefined;
  const createTime = fromMicroseconds(draft.nowUs);
  const encoded: EncodedMessages = encodeMessages(
    draft.located.map(({ message }, index) => ({
      ...message,
      id: draft.ids[index]!,
      turnId: turn.id,
      index: firstIndex + index,
      o200kTokens: draft.tokens[index]!.parts,
      contextO200kTokens: draft.tokens[index]!.context,
      createTime,
      prompted: index === 0 && draft.isPrompted === true,
    })),
    state.abandoned.length > 0 ? MessageFlag.ABANDONS : 0,
  );
  return {
    tenantId: turn.tenantId,
    turnId: turn.id,
    firstIndex,
    branchId: turn.branchId,
    depth: turn.depth,
    messageCount: draft.located.length,
    indexJson: encoded.indexJson,
    wire: encoded.wire as unknown as Bytes,
  };
}

/** A turn that has just begun, without messages. */
export interface StartedTurn {
  readonly session: LockedSession;
  readonly turn: TurnRow;
  /** What its parent leaves open. */
  readonly state: OpenState;
}

/** Starts a turn under its parent, or refuses: inside the transaction, so nothing that it looked at can change. */
export function startTurn(
  found: TurnState,
  command: NewTurn,
  tenantId: string,
  id: string,
  createdUs: bigint,
): StartedTurn {
  const { session, parent } = found;
  if (!session) throw sessionNotFound(command.session);
  const parentTurnId = settleParent(found, session, command);
  const { details = emptyTurnDetails, assemblyId } = command;
  const turn = newTurn(tenantId, id, session.id, parentTurnId, details, createdUs, assemblyId);
  return { session, turn, state: stateUnder(parent, command.abandonOpenItems) };
}

function newTurn(
  tenantId: string,
  id: string,
  sessionId: string,
  parentTurnId: string,
  details: TurnDetails,
  createdUs: bigint,
  assemblyId: string | undefined,
): TurnRow {
  return {
    tenantId,
    id,
    sessionId,
    parentTurnId: parentTurnId || null,
    branchId: null,
    depth: null,
    status: TurnStatus.OPEN,
    ...detailColumns(details),
    permissionsUsedJson: "[]",
    inputTokens: null,
    outputTokens: null,
    cachedInputTokens: null,
    cacheWriteTokens: null,
    reasoningTokens: null,
    stopReason: "",
    error: "",
    messageCount: 0,
    o200kTokens: 0n,
    contextO200kTokens: 0n,
    openStateJson: "",
    abandonedItemsJson: "[]",
    contentHash: null,
    chainHash: null,
    createdUs,
    completedUs: null,
    assemblyId: assemblyId || null,
    modelCallCount: 0,
    interruptedByTurnId: null,
    ...noCounts,
  };
}

function detailColumns(details: TurnDetails) {
  return {
    agentRole: details.agentRole,
    model: details.model,
    provider: details.provider,
    toolset: details.toolset,
    permissionsGrantedJson: JSON.stringify(details.permissionsGranted),
    sourceEventJson: details.sourceEvent ? JSON.stringify(details.sourceEvent) : null,
    workspacePath: details.workspacePath,
    metadataJson: JSON.stringify(details.metadata),
  };
}

/** An open turn that has named no assembly before, with the one that it names now and what is known of it by that. */
export function withAssembly(
  turn: TurnRow,
  {
    assemblyId,
    details,
  }: { readonly assemblyId?: string | undefined; readonly details?: TurnDetails | undefined },
): TurnRow {
  if (turn.assemblyId !== null || !assemblyId) return turn;
  return { ...turn, assemblyId, ...(details && detailColumns(details)) };
}

/** The context that a turn answers to. */
export interface AnsweredAssembly {
  readonly assemblyId: string;
  readonly model: string;
  readonly provider: string;
  readonly role: string;
  /** The head that it was made under; empty for none. */
  readonly parentTurnId: string;
  readonly replay: PinRow["replay"];
  readonly limitTokens: number;
  /** The compaction that it began with; empty for none. */
  readonly compactionId: string;
  /** The open turn that it showed, empty for none, and how many messages that had. */
  readonly activeTurnId: string;
  readonly activeMessages: number;
  /** What the model was told after the results of its tools, where there was no event. */
  readonly told: readonly Part[];
}

/** Messages of which the first carries what its model was told before it, after the results of its tools. */
export function withTold(
  located: readonly LocatedMessage[],
  { told }: Partial<Pick<AnsweredAssembly, "told">> = {},
): readonly LocatedMessage[] {
  const [first, ...rest] = located;
  const isAnswer = first?.message.role === MessageRole.ASSISTANT && first.message.contextParts.length === 0;
  if (!told?.length || !isAnswer) return located;
  return [{ ...first, message: { ...first.message, contextParts: told } }, ...rest];
}

/**
 * The draft as the answer to its assembly: whether its model was asked for it directly after an answer of its own. What its model was told stands
 * before it only where it is what comes next.
 */
export function asAnswer(
  draft: MessageDraft,
  turn: TurnRow,
  before: OpenState,
  assembly: AnsweredAssembly | undefined,
): MessageDraft {
  const isNext = assembly?.activeTurnId === turn.id && assembly.activeMessages === turn.messageCount;
  const first = draft.located[0]?.message;
  if (!isNext && assembly && first?.contextParts === assembly.told) return withoutFirstContext(draft);
  const isAnswer = first?.role === MessageRole.ASSISTANT;
  return before.answered && isNext && isAnswer ? { ...draft, isPrompted: true } : draft;
}

function withoutFirstContext(draft: MessageDraft): MessageDraft {
  const [first, ...located] = draft.located;
  const [firstTokens, ...tokens] = draft.tokens;
  return {
    ...draft,
    located: [{ ...first!, message: { ...first!.message, contextParts: [] } }, ...located],
    tokens: [{ ...firstTokens!, context: countedTokens(0) }, ...tokens],
  };
}

/** Whether a turn stands where its context said that it would. */
function isWhereAssembled(turn: TurnRow, assembly: AnsweredAssembly): boolean {
  return (turn.parentTurnId ?? "") === assembly.parentTurnId;
}

/**
 * What pins a context: the session's next one for the model and role should begin as it did. The next context of a turn that stands
 * elsewhere has other turns in it, and begins with nothing of that one.
 */
export function pinOf(turn: TurnRow, assembly: AnsweredAssembly | undefined): PinRow | undefined {
  if (!assembly || !isWhereAssembled(turn, assembly)) return undefined;
  const { tenantId, sessionId, id: turnId, createdUs: pinnedUs } = turn;
  const { assemblyId, model, role, replay, limitTokens, compactionId } = assembly;
  return {
    tenantId,
    sessionId,
    turnId,
    pinnedUs,
    assemblyId,
    compactionId,
    model,
    role,
    replay,
    limitTokens,
  };
}

/** The warnings of a turn, with one if it does not stand where its context said. */
export function warningsOf(
  turn: TurnRow,
  {
    assembly,
    warnings = [],
  }: { readonly assembly?: AnsweredAssembly | undefined; readonly warnings?: readonly Warning[] | undefined },
): readonly Warning[] {
  if (!assembly || isWhereAssembled(turn, assembly)) return warnings;
  const after = (id: string | null) => (id ? `after the turn ${id}` : "as the first turn");
  const detail = `the context ${assembly.assemblyId} was made for a turn ${after(assembly.parentTurnId)}, and this one was written ${after(turn.parentTurnId)}: the model had not seen what is between them`;
  return [...warnings, warning(WarningKind.PARENT_DIFFERS, detail)];
}

/** The turn with a draft's messages counted in, and what they leave open. */
export function withMessages(turn: TurnRow, draft: MessageDraft, state: OpenState): TurnRow {
  return {
    ...turn,
    messageCount: turn.messageCount + draft.located.length,
    o200kTokens: turn.o200kTokens + BigInt(draft.tokens.reduce((sum, tokens) => sum + tokens.parts, 0)),
    contextO200kTokens:
      turn.contextO200kTokens + BigInt(draft.tokens.reduce((sum, tokens) => sum + tokens.context, 0)),
    openStateJson: state.toJson(),
    abandonedItemsJson: JSON.stringify(state.abandoned),
    ...plusCounts(
      turn,
      countsOf(draft.located.map(({ message }, index) => counted(message, draft.tokens[index]!))),
    ),
  };
}

function counted({ role }: Message, tokens: MessageTokens): CountedMessage {
  return { isSystem: role === MessageRole.SYSTEM, ...tokens };
}

/** The turn as it ends, with what the engine reported. Where it stands is not decided yet. */
export function withResult(
  turn: TurnRow,
  status: TurnStatus,
  result: AgentResult | undefined,
  state: OpenState,
  wires: readonly Uint8Array[],
  completedUs: bigint,
): TurnRow {
  return {
    ...turn,
    status,
    permissionsUsedJson: JSON.stringify(result?.permissionsUsed ?? []),
    stopReason: result?.stopReason ?? "",
    error: result?.error ?? "",
    openStateJson: state.toFinishedJson(),
    contentHash: sha256(...wires) as unknown as Bytes,
    completedUs,
  };
}

/** A finished turn's place, the branch it opened if it had to, and the head move if it is one. */
export interface Placement {
  readonly turn: TurnRow;
  readonly branch: BranchRow | undefined;
  readonly headMove: HeadMoveRow | undefined;
  readonly branched: boolean;
  /** Where a session's head moves, no lease of before is left. */
  readonly lease: SessionLease | undefined;
}

/**
 * After its parent on the parent's branch where that place is free, else on a new branch. The head moves only
 * if it is the parent, and the session is not another turn's; where it is not the parent, the guard has decided already that a branch
 * will do.
 */
export function placeTurn(
  turn: TurnRow,
  session: LockedSession,
  state: Pick<TurnState, "parent" | "slotTaken">,
  cause: HeadMoveCause,
  ids: Ids,
): Placement {
  const { parent } = state;
  const extendsBranch = parent !== undefined && !state.slotTaken;
  const forkDepth = parent?.depth ?? 0;
  const branchId = extendsBranch ? parent.branchId! : ids.next();
  const placed: TurnRow = {
    ...turn,
    branchId,
    depth: forkDepth + 1,
    chainHash: chainHash(parent?.chainHash ?? undefined, turn.contentHash!) as unknown as Bytes,
    ...plusCounts(plusCounts(parent ?? noCounts, turn), madeUpCounts(abandonedBy(turn).length)),
  };
  const isHead = (session.headTurnId ?? "") === (turn.parentTurnId ?? "");
  if (isHead) requireFree(session, turn.id);
  return {
    lease: isHead && session.leaseTurnId !== null ? noLease : undefined,
    turn: placed,
    branch: extendsBranch
      ? undefined
      : { tenantId: turn.tenantId, id: branchId, parentBranchId: parent?.branchId ?? null, forkDepth },
    headMove: isHead
      ? {
          tenantId: turn.tenantId,
          sessionId: session.id,
          sequence: session.headSequence + 1,
          fromTurnId: session.headTurnId,
          toTurnId: turn.id,
          cause,
          createdUs: turn.completedUs!,
        }
      : undefined,
    branched: !isHead,
  };
}

/** The parent of a new turn: there, finished, and the session's head, unless a branch will do. */
export function settleParent(
  state: Pick<TurnState, "parent">,
  session: SessionHead,
  { parentTurnId = session.headTurnId ?? "", onHeadMoved }: Pick<NewTurn, "parentTurnId" | "onHeadMoved">,
): string {
  const { parent } = state;
  if (parentTurnId !== "" && !parent) {
    throw QuireError.field("UNKNOWN_PARENT", "parent_turn_id", "is no turn");
  }
  if (parent && parent.branchId === null) {
    const status = parent.status.replace("TURN_STATUS_", "");
    throw QuireError.field("PARENT_NOT_FINISHED", "parent_turn_id", `is a turn that is ${status}`, {
      status,
    });
  }
  if ((session.headTurnId ?? "") !== parentTurnId && onHeadMoved !== OnHeadMoved.BRANCH) {
    throw headMoved(session, "parent_turn_id", "is not the session's head");
  }
  return parentTurnId;
}

export function headMoved(session: SessionHead, field: string, description: string): QuireError {
  const head = session.headTurnId ?? "";
  return new QuireError("HEAD_MOVED", `${field}: ${description}, which is ${head || "no turn"}`, {
    metadata: { head_turn_id: head, session_id: session.id },
    violations: [{ field, description }],
  });
}

/** What the parent leaves open, as the state before a turn's first message. What an interrupted one does may be given up unasked. */
export function stateUnder(parent: ParentTurn | undefined, abandonOpenItems: boolean): OpenState {
  if (!parent) return OpenState.under([], abandonOpenItems);
  const mayAbandon = abandonOpenItems || parent.interruptedByTurnId !== null;
  return OpenState.under(OpenState.parse(parent.openStateJson).waiting, mayAbandon);
}
