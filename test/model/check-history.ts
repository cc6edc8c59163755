import { recordedTurn } from "../support/found-turn.js";
import { describeOperation, type History, type Operation, requestIdOf, sameAnswer } from "./history.js";
import { type SessionEvent, sessionModel } from "./ledger-model.js";
import { findOrder, type Model, type Timed } from "./linearizable.js";
import { type NameEvent, nameModel } from "./name-model.js";

/** Refusals that random clients may meet. Any other is a fault. */
const expectedRefusals = new Set([
  "SESSION_NOT_FOUND",
  "TURN_NOT_FOUND",
  "ALIAS_NOT_FOUND",
  "LABEL_TAKEN",
  "ALIAS_TAKEN",
  "REQUEST_ID_REUSED",
  "HEAD_MOVED",
  "UNKNOWN_PARENT",
  "TURN_NOT_OPEN",
  "TURN_EMPTY",
  "MESSAGE_COUNT_MISMATCH",
  "ORPHAN_TOOL_RESULT",
]);

/** Everything that is wrong with what clients were told, in words; nothing when the model explains it all. */
export function checkHistory(history: History): string[] {
  const { operations } = history;
  const faults = operations
    .filter((op) => op.error && !expectedRefusals.has(op.error.reason))
    .map((op) => `unexpected error ${op.error!.code} ${op.error!.message}: ${describeOperation(op)}`);
  if (faults.length > 0) return faults;
  return [
    ...checkReads(history),
    ...checkRepeats(history),
    ...checkGoneTurns(history),
    ...checkSessions(history),
    ...checkNames(history),
  ];
}

/**
 * A turn that is read has as many messages as it says, also while others write to it. Turn and messages are two reads: what was
 * added in between may be there already, and an erasure in between may have taken the messages.
 */
function checkReads(history: History): string[] {
  return history
    .answered("getTurn")
    .filter((op) => {
      const { status, messageCount, sessionId } = recordedTurn(op.answer).turn!;
      const read = recordedTurn(op.answer).result!.messages.length;
      if (read === messageCount || wasErasedDuring(history, sessionId, op)) return false;
      return status !== "TURN_STATUS_OPEN" || read < messageCount;
    })
    .map(
      (op) =>
        `${recordedTurn(op.answer).result!.messages.length} messages were read: ${describeOperation(op as unknown as Operation)}`,
    );
}

/** Whether a session was being deleted while something else went on. */
export function wasErasedDuring(history: History, sessionId: string, { start, end }: Timed): boolean {
  return history
    .answered("deleteSession")
    .some(
      (erasure) => erasure.answer.sessionId === sessionId && erasure.start <= end && erasure.end >= start,
    );
}

/** One request id, one write: two different answers need an erasure of the first one's session in between. */
function checkRepeats(history: History): string[] {
  const faults: string[] = [];
  const first = new Map<string, Operation>();
  const byEnd = [...history.operations].sort((a, b) => a.end - b.end);
  for (const op of byEnd) {
    const id = requestIdOf(op);
    if (id === "" || !op.answer) continue;
    const name = `${op.method}/${id}`;
    const earlier = first.get(name);
    if (earlier && !sameAnswer(earlier, op) && !mayBeErased(history, sessionOf(history, earlier), op)) {
      faults.push(`two answers to one request:\n  ${describeOperation(earlier)}\n  ${describeOperation(op)}`);
    }
    first.set(name, op);
  }
  return faults;
}

/** A turn that is not found was erased: with the session that wrote it, so that one was deleted. */
function checkGoneTurns(history: History): string[] {
  const writers = turnWriters(history);
  const faults: string[] = [];
  for (const op of history.operations) {
    const turnId = missingTurn(op);
    if (turnId === undefined) continue;
    if (!mayBeErased(history, writers.get(turnId), op))
      faults.push(`a turn was lost: ${describeOperation(op)}`);
  }
  return faults;
}

function missingTurn(op: Operation): string | undefined {
  const reason = op.error?.reason;
  if (reason === "UNKNOWN_PARENT" && (op.method === "recordTurn" || op.method === "beginTurn")) {
    return op.request.parentTurnId;
  }
  if (reason !== "TURN_NOT_FOUND") return undefined;
  if (op.method === "forkSession") return op.request.at?.value;
  if (op.method === "updateSession") return op.request.headTurnId;
  return "turnId" in op.request ? op.request.turnId : undefined;
}

function mayBeErased(history: History, sessionId: string | undefined, op: Operation): boolean {
  return history
    .answered("deleteSession")
    .some((erasure) => erasure.answer.sessionId === sessionId && erasure.start <= op.end);
}

/** The session through which each turn was written. */
export function turnWriters(history: History): Map<string, string> {
  const writers = new Map<string, string>();
  for (const method of ["recordTurn", "beginTurn"] as const) {
    for (const { answer } of history.answered(method)) writers.set(answer.turn!.id, answer.turn!.sessionId);
  }
  return writers;
}

/** The depth of each turn that was finished; 0 for no turn. */
export function turnDepths(history: History): Map<string, number> {
  const depths = new Map([["", 0]]);
  for (const method of ["recordTurn", "completeTurn"] as const) {
    for (const { answer } of history.answered(method)) depths.set(answer.turn!.id, answer.turn!.depth);
  }
  return depths;
}

/** The session that a call was about, where that can be known. */
function sessionOf(history: History, op: Operation, writers = turnWriters(history)): string | undefined {
  if (op.answer) {
    if ("sessionId" in op.answer) return op.answer.sessionId;
    if ("session" in op.answer) return op.answer.session?.id;
    if ("found" in op.answer) return recordedTurn(op.answer).turn?.sessionId;
    return op.answer.turn?.sessionId;
  }
  if (op.error?.metadata.session_id) return op.error.metadata.session_id;
  if ("turnId" in op.request) return writers.get(op.request.turnId);
  if (op.method === "createSession" || op.method === "forkSession") return undefined;
  if (op.method === "unaliasSession") return undefined;
  if (op.method === "aliasSession" && op.error?.reason !== "SESSION_NOT_FOUND") return undefined;
  return "session" in op.request ? op.request.session : undefined;
}

function checkSessions(history: History): string[] {
  const writers = turnWriters(history);
  const depths = turnDepths(history);
  const model = sessionModel((turnId) => depths.get(turnId) ?? -1);
  const events = new Map<string, SessionEvent[]>();
  const add = (sessionId: string | undefined, event: SessionEvent) => {
    if (sessionId === undefined || !isId(sessionId)) return;
    const known = events.get(sessionId);
    if (known) known.push(event);
    else events.set(sessionId, [event]);
  };
  for (const op of history.operations) {
    add(sessionOf(history, op, writers), { op, role: "subject", start: op.start, end: op.end });
    if (op.method === "forkSession" && op.request.session !== "") {
      const origin = op.request.session;
      const wasFound = op.answer !== undefined || op.error?.reason === "SESSION_NOT_FOUND";
      if (wasFound && isId(origin) && !isRepeated(history, op)) {
        add(origin, { op, role: "origin", start: op.start, end: op.end });
      }
    }
  }
  return [...events].flatMap(([sessionId, all]) => explain(`session ${sessionId}`, all, model));
}

function checkNames(history: History): string[] {
  const names = new Set<string>();
  for (const op of history.operations) {
    for (const name of namesIn(op)) if (name !== "" && !isId(name)) names.add(name);
  }
  const writers = turnWriters(history);
  return [...names].flatMap((name) => {
    const events = history.operations.flatMap((op): NameEvent | [] => {
      const lookedUp = isRepeated(history, op) ? undefined : lookup(history, op, name, writers);
      const mayChange =
        op.method === "deleteSession" ||
        (op.method === "updateSession" && op.request.label !== undefined) ||
        namesGiven(op).includes(name);
      return lookedUp !== undefined || mayChange ? { op, lookedUp, start: op.start, end: op.end } : [];
    });
    return explain(`name ${name}`, events, nameModel(name));
  });
}

/** What a call that names its session so learned about the name. */
function lookup(
  history: History,
  op: Operation,
  name: string,
  writers: Map<string, string>,
): NameEvent["lookedUp"] {
  const asked =
    op.method === "forkSession" ? forkOrigin(op) : "session" in op.request ? op.request.session : undefined;
  if (asked !== name) return undefined;
  if (op.error?.reason === "SESSION_NOT_FOUND") return "nobody";
  if (op.method === "forkSession") return { sessionId: undefined };
  return {
    sessionId: op.answer || op.error?.metadata.session_id ? sessionOf(history, op, writers) : undefined,
  };
}

function forkOrigin(op: Operation): string | undefined {
  return op.method === "forkSession" ? op.request.session || undefined : undefined;
}

function namesGiven(op: Operation): string[] {
  if (op.method === "aliasSession" || op.method === "unaliasSession") return [op.request.alias];
  if (op.method === "createSession" || op.method === "forkSession") return [op.request.label];
  return op.method === "updateSession" ? [op.request.label ?? ""] : [];
}

function namesIn(op: Operation): string[] {
  return [...namesGiven(op), forkOrigin(op) ?? "", "session" in op.request ? op.request.session : ""];
}

function isRepeated(history: History, op: Operation): boolean {
  const id = requestIdOf(op);
  return (
    id !== "" &&
    history.operations.some(
      (other) => other !== op && other.method === op.method && requestIdOf(other) === id,
    )
  );
}

const isId = (name: string) => /^[0-9a-f]{8}-/.test(name);

function explain<Event extends Timed & { readonly op: Operation }, State>(
  subject: string,
  events: readonly Event[],
  model: Model<Event, State>,
): string[] {
  const verdict = findOrder(events, model);
  if (verdict.explained) return [];
  return [
    [
      `no order of the calls explains ${subject}; after ${verdict.order.length} of ${events.length} calls, of which the last were`,
      ...verdict.order.slice(-6).map(({ op }) => `  ${describeOperation(op)}`),
      `the model is at ${JSON.stringify(printable(verdict.state))} and none of these can come next:`,
      ...verdict.stuckAt.map(({ op }) => `  ${describeOperation(op)}`),
    ].join("\n"),
  ];
}

function printable(state: unknown): object {
  return Object.fromEntries(
    Object.entries(state as object).flatMap(([key, value]) =>
      key === "answered" ? [] : [[key, value instanceof Map ? Object.fromEntries(value) : value]],
    ),
  );
}
