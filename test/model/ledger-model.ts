import type { Message } from "../../src/contract/gen/quire/v1/message.js";
import type { Session } from "../../src/contract/gen/quire/v1/session.js";
import { recordedTurn } from "../support/found-turn.js";
import { type Operation, type OperationOf, requestIdOf, sameAnswer, sameRequest } from "./history.js";
import type { Model, Timed } from "./linearizable.js";

/** A call as one session saw it: on itself, or as the origin of a fork, which only reads its head. */
export interface SessionEvent extends Timed {
  readonly op: Operation;
  readonly role: "subject" | "origin";
}

interface ModelTurn {
  readonly status: string;
  readonly parent: string;
  readonly messages: number;
}

/** All that one session is, in memory. */
export interface SessionState {
  readonly phase: "absent" | "live" | "gone";
  readonly head: string;
  readonly sequence: number;
  readonly tags: Readonly<Record<string, string>>;
  readonly turns: ReadonlyMap<string, ModelTurn>;
  /** The writes that were done, by method and request id. */
  readonly answered: ReadonlyMap<string, Operation>;
}

type Next = SessionState | undefined;

const open = "TURN_STATUS_OPEN";
const failed = "TURN_STATUS_FAILED";
const completed = "TURN_STATUS_COMPLETED";

/** What a session does, one call after the other. The depth of a turn never changes, so it is given. */
export function sessionModel(depthOf: (turnId: string) => number): Model<SessionEvent, SessionState> {
  const looksRight = (state: SessionState, session: Session | undefined): boolean =>
    session !== undefined &&
    session.headTurnId === state.head &&
    session.headSequence === state.sequence &&
    session.depth === depthOf(state.head) &&
    JSON.stringify(sorted(session.metadata)) === JSON.stringify(sorted(state.tags));

  const act = (state: SessionState, op: Operation): Next => {
    const live = state.phase === "live";
    switch (op.method) {
      case "createSession":
      case "forkSession": {
        const session = op.answer!.session!;
        const after = {
          ...state,
          phase: "live" as const,
          head: session.headTurnId,
          tags: op.request.metadata,
        };
        const born = { ...after, sequence: session.headTurnId === "" ? 0 : 1 };
        return state.phase === "absent" && looksRight(born, session) ? born : undefined;
      }
      case "getSession":
        return allowed(
          state,
          op.error ? isMissing(op) && !live : live && looksRight(state, op.answer!.session),
        );
      case "aliasSession":
      case "unaliasSession":
        return allowed(
          state,
          op.error ? isMissing(op) && !live : live && looksRight(state, op.answer!.session),
        );
      case "updateSession":
        return update(state, op, looksRight);
      case "deleteSession":
        if (op.error) return allowed(state, isMissing(op) && !live);
        return live ? { ...state, phase: "gone", answered: new Map() } : undefined;
      case "recordTurn":
        return record(state, op);
      case "beginTurn":
        return begin(state, op);
      case "appendMessages":
        return append(state, op);
      case "completeTurn":
        return complete(state, op);
      case "getTurn": {
        const turn = state.turns.get(op.request.turnId);
        if (op.error) return allowed(state, op.error.reason === "TURN_NOT_FOUND" && !live);
        const { status, messageCount } = recordedTurn(op.answer!).turn!;
        return allowed(state, turn !== undefined && turn.status === status && turn.messages === messageCount);
      }
    }
  };

  return {
    initial: { phase: "absent", head: "", sequence: 0, tags: {}, turns: new Map(), answered: new Map() },
    key: ({ phase, head, sequence, tags, turns }) => {
      const open_ = [...turns]
        .filter(([, turn]) => turn.status === open)
        .map(([id, turn]) => `${id}:${turn.messages}`);
      return [phase, head, sequence, JSON.stringify(sorted(tags)), ...open_.sort()].join("|");
    },
    step(state, { op, role }) {
      if (role === "origin" && op.method === "forkSession") {
        if (op.error) return allowed(state, state.phase !== "live");
        return allowed(state, state.phase === "live" && op.answer!.session!.headTurnId === state.head);
      }
      return throughAnswers(state, op, (current) => act(current, op));
    },
  };
}

/** The rule of request ids, which comes before every other. */
export function throughAnswers<State extends { readonly answered: ReadonlyMap<string, Operation> }>(
  state: State,
  op: Operation,
  act: (state: State) => State | undefined,
): State | undefined {
  const id = requestIdOf(op);
  const name = `${op.method}/${id}`;
  const earlier = id === "" ? undefined : state.answered.get(name);
  const isReused = op.error?.reason === "REQUEST_ID_REUSED";
  if (earlier) return (sameRequest(earlier, op) ? sameAnswer(earlier, op) : isReused) ? state : undefined;
  if (isReused) return undefined;
  const after = act(state);
  if (!after || !op.answer || id === "") return after;
  return { ...after, answered: new Map(after.answered).set(name, op) };
}

function record(state: SessionState, op: OperationOf<"recordTurn">): Next {
  const { parentTurnId: parent = "", status, messages, result } = op.request;
  const all = [...messages, ...(result?.messages ?? [])];
  if (op.error) return refusedUnder(state, op, parent, all);
  if (!mayWriteUnder(state, op, parent) || hasOrphan(all)) return undefined;
  const { turn, headTurnId, branched } = op.answer!;
  const end = status === "TURN_STATUS_UNSPECIFIED" ? completed : status;
  if (turn!.parentTurnId !== parent || turn!.status !== end || turn!.messageCount !== all.length)
    return undefined;
  return finish(state, turn!.id, { status: end, parent, messages: all.length }, headTurnId, branched);
}

function begin(state: SessionState, op: OperationOf<"beginTurn">): Next {
  const { parentTurnId: parent = "", messages } = op.request;
  if (op.error) return refusedUnder(state, op, parent, messages);
  if (!mayWriteUnder(state, op, parent) || hasOrphan(messages)) return undefined;
  const { id, status, messageCount, parentTurnId } = op.answer!.turn!;
  if (status !== open || messageCount !== messages.length || parentTurnId !== parent) return undefined;
  return { ...state, turns: new Map(state.turns).set(id, { status, parent, messages: messageCount }) };
}

function append(state: SessionState, op: OperationOf<"appendMessages">): Next {
  const { turnId, messages, expectedMessageCount: expected } = op.request;
  const turn = state.turns.get(turnId);
  if (!turn || turn.status !== open || state.phase !== "live") return notOpen(state, op, turn);
  if (expected !== undefined && expected !== turn.messages) {
    const { reason, metadata } = op.error ?? {};
    return allowed(
      state,
      reason === "MESSAGE_COUNT_MISMATCH" && metadata?.message_count === String(turn.messages),
    );
  }
  if (hasOrphan(messages)) return allowed(state, op.error?.reason === "ORPHAN_TOOL_RESULT");
  const after = turn.messages + messages.length;
  if (op.answer?.turn?.messageCount !== after || op.answer.turn.status !== open) return undefined;
  return { ...state, turns: new Map(state.turns).set(turnId, { ...turn, messages: after }) };
}

function complete(state: SessionState, op: OperationOf<"completeTurn">): Next {
  const { turnId, status, result, onHeadMoved } = op.request;
  const turn = state.turns.get(turnId);
  if (!turn || turn.status !== open || state.phase !== "live") return notOpen(state, op, turn);
  const added = result?.messages ?? [];
  const messages = turn.messages + added.length;
  const end = status === "TURN_STATUS_UNSPECIFIED" ? completed : status;
  const reason = op.error?.reason;
  if (hasOrphan(added)) return allowed(state, reason === "ORPHAN_TOOL_RESULT");
  if (messages === 0 && end !== failed) return allowed(state, reason === "TURN_EMPTY");
  if (end !== failed && state.head !== turn.parent && onHeadMoved !== "ON_HEAD_MOVED_BRANCH") {
    return allowed(state, reason === "HEAD_MOVED" && op.error?.metadata.head_turn_id === state.head);
  }
  if (op.answer?.turn?.status !== end || op.answer.turn.messageCount !== messages) return undefined;
  return finish(state, turnId, { ...turn, status: end, messages }, op.answer.headTurnId, op.answer.branched);
}

function update(
  state: SessionState,
  op: OperationOf<"updateSession">,
  looksRight: (state: SessionState, session: Session | undefined) => boolean,
): Next {
  const { headTurnId, expectedHeadTurnId, setMetadata } = op.request;
  if (state.phase !== "live") return allowed(state, isMissing(op));
  if (headTurnId !== undefined && state.head !== expectedHeadTurnId) {
    return allowed(state, op.error?.reason === "HEAD_MOVED" && op.error.metadata.head_turn_id === state.head);
  }
  if (op.error) {
    const isName = op.error.reason === "LABEL_TAKEN" && op.request.label !== undefined;
    return allowed(state, isName || (op.error.reason === "TURN_NOT_FOUND" && headTurnId !== undefined));
  }
  const moved = headTurnId === undefined ? {} : { head: headTurnId, sequence: state.sequence + 1 };
  const after = { ...state, ...moved, tags: { ...state.tags, ...setMetadata } };
  return looksRight(after, op.answer!.session) ? after : undefined;
}

/** Why a new turn may be refused: no session, no such parent, a moved head, bad messages; in this order. */
function refusedUnder(
  state: SessionState,
  op: OperationOf<"recordTurn"> | OperationOf<"beginTurn">,
  parent: string,
  messages: readonly Message[],
): Next {
  const { reason, metadata } = op.error!;
  if (state.phase !== "live") return allowed(state, reason === "SESSION_NOT_FOUND");
  if (reason === "UNKNOWN_PARENT") return allowed(state, state.head !== parent);
  if (!mayWriteUnder(state, op, parent)) {
    return allowed(state, reason === "HEAD_MOVED" && metadata.head_turn_id === state.head);
  }
  return allowed(state, reason === "ORPHAN_TOOL_RESULT" && hasOrphan(messages));
}

function mayWriteUnder(
  state: SessionState,
  op: OperationOf<"recordTurn"> | OperationOf<"beginTurn">,
  parent: string,
): boolean {
  return (
    state.phase === "live" && (state.head === parent || op.request.onHeadMoved === "ON_HEAD_MOVED_BRANCH")
  );
}

/** A turn's end: the head moves to it if it is the turn's parent; a failed one moves nothing. */
function finish(
  state: SessionState,
  id: string,
  turn: ModelTurn,
  headTurnId: string,
  branched: boolean,
): Next {
  const turns = new Map(state.turns).set(id, turn);
  const isHead = turn.status !== failed && state.head === turn.parent;
  const after = isHead ? { ...state, turns, head: id, sequence: state.sequence + 1 } : { ...state, turns };
  const shouldBranch = turn.status !== failed && !isHead;
  return headTurnId === after.head && branched === shouldBranch ? after : undefined;
}

function notOpen(
  state: SessionState,
  op: OperationOf<"appendMessages"> | OperationOf<"completeTurn">,
  turn: ModelTurn | undefined,
): Next {
  const { reason, metadata } = op.error ?? {};
  if (reason === "TURN_NOT_FOUND") return allowed(state, state.phase !== "live");
  const isSo = turn !== undefined && turn.status === `TURN_STATUS_${metadata?.status}`;
  return allowed(state, reason === "TURN_NOT_OPEN" && turn?.status !== open && isSo);
}

function allowed<State>(state: State, condition: boolean): State | undefined {
  return condition ? state : undefined;
}

function isMissing(op: Operation): boolean {
  return op.error?.reason === "SESSION_NOT_FOUND";
}

function hasOrphan(messages: readonly Message[]): boolean {
  return messages.some((message) => message.role === "MESSAGE_ROLE_TOOL");
}

function sorted(tags: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1));
}
