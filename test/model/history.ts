import * as wire from "../../src/contract/gen/quire/v1/ledger_service.js";
import { call, type WireError, wireError } from "../support/server.js";
import type { Timed } from "./linearizable.js";

interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
}

/** The calls that are made at random, with what encodes them. */
const codecs = {
  createSession: [wire.CreateSessionRequest, wire.CreateSessionResponse],
  getSession: [wire.GetSessionRequest, wire.GetSessionResponse],
  updateSession: [wire.UpdateSessionRequest, wire.UpdateSessionResponse],
  deleteSession: [wire.DeleteSessionRequest, wire.DeleteSessionResponse],
  forkSession: [wire.ForkSessionRequest, wire.ForkSessionResponse],
  aliasSession: [wire.AliasSessionRequest, wire.AliasSessionResponse],
  unaliasSession: [wire.UnaliasSessionRequest, wire.UnaliasSessionResponse],
  recordTurn: [wire.RecordTurnRequest, wire.RecordTurnResponse],
  beginTurn: [wire.BeginTurnRequest, wire.BeginTurnResponse],
  appendMessages: [wire.AppendMessagesRequest, wire.AppendMessagesResponse],
  completeTurn: [wire.CompleteTurnRequest, wire.CompleteTurnResponse],
  getTurn: [wire.GetTurnRequest, wire.GetTurnResponse],
} as const;

export type Method = keyof typeof codecs;
type Coded<C> = C extends Codec<infer T> ? T : never;
export type Request<M extends Method> = Coded<(typeof codecs)[M][0]>;
export type Answer<M extends Method> = Coded<(typeof codecs)[M][1]>;

/** One call: what was asked, when, and what came of it. */
export type OperationOf<M extends Method> = Timed & {
  readonly number: number;
  readonly client: number;
  readonly method: M;
  readonly request: Request<M>;
  readonly answer: Answer<M> | undefined;
  readonly error: WireError | undefined;
};
export type Operation = { [M in Method]: OperationOf<M> }[Method];

/** What a client asks for, not sent yet. */
export type Intent = { [M in Method]: { readonly method: M; readonly request: Request<M> } }[Method];

export class History {
  readonly operations: Operation[] = [];
  private sent = 0;

  /** Sends a call and writes down what came of it. */
  async perform<M extends Method>(
    client: number,
    ledger: wire.LedgerServiceClient,
    method: M,
    request: Request<M>,
  ): Promise<OperationOf<M>> {
    const number = this.sent++;
    const start = performance.now();
    let answer: Answer<M> | undefined;
    let error: WireError | undefined;
    try {
      type Send = (request: Request<M>, done: (error: never, answer: Answer<M>) => void) => unknown;
      answer = await call(ledger, ledger[method] as unknown as Send, request);
    } catch (thrown) {
      error = wireError(thrown);
    }
    const operation: OperationOf<M> = {
      number,
      client,
      method,
      request,
      start,
      end: performance.now(),
      answer,
      error,
    };
    this.operations.push(operation as unknown as Operation);
    return operation;
  }

  /** The calls of one method that were answered. */
  answered<M extends Method>(method: M): (OperationOf<M> & { readonly answer: Answer<M> })[] {
    return this.operations.filter(
      (op) => op.method === method && op.answer !== undefined,
    ) as unknown as (OperationOf<M> & { readonly answer: Answer<M> })[];
  }
}

export function requestIdOf(op: Operation): string {
  return "requestId" in op.request ? op.request.requestId : "";
}

export function sameRequest(a: Operation, b: Operation): boolean {
  return (
    a.method === b.method &&
    bytes(codecs[a.method][0], a.request).equals(bytes(codecs[b.method][0], b.request))
  );
}

export function sameAnswer(a: Operation, b: Operation): boolean {
  if (a.method !== b.method || !a.answer || !b.answer) return false;
  return bytes(codecs[a.method][1], a.answer).equals(bytes(codecs[b.method][1], b.answer));
}

function bytes(codec: unknown, message: unknown): Buffer {
  return Buffer.from((codec as Codec<unknown>).encode(message).finish());
}

/** One line for a failure report. */
export function describeOperation(op: Operation): string {
  const {
    session,
    turnId,
    parentTurnId,
    requestId,
    alias,
    label,
    onHeadMoved,
    headTurnId,
    expectedHeadTurnId,
  } = op.request as unknown as Record<string, unknown>;
  const asked = {
    session,
    turnId,
    parentTurnId,
    requestId,
    alias,
    label,
    onHeadMoved,
    headTurnId,
    expectedHeadTurnId,
  };
  const from = op.method === "forkSession" ? { from: op.request.at?.value ?? op.request.session } : {};
  const came = op.error ? { refused: op.error.reason, ...op.error.metadata } : summary(op);
  const times = `${op.start.toFixed(2)}-${op.end.toFixed(2)}`;
  return `#${op.number} client ${op.client} ${times} ${op.method} ${JSON.stringify({ ...asked, ...from })} -> ${JSON.stringify(came)}`;
}

function summary(op: Operation): object {
  const answer = op.answer as {
    session?: { id: string; label: string; headTurnId: string; headSequence: number };
    turn?: { id: string; sessionId: string; status: string; messageCount: number };
    headTurnId?: string;
    branched?: boolean;
    sessionId?: string;
  };
  const { session, turn, headTurnId, branched, sessionId } = answer;
  return {
    ...(session && {
      session: session.id,
      label: session.label,
      head: session.headTurnId,
      sequence: session.headSequence,
    }),
    ...(turn && { turn: turn.id, of: turn.sessionId, status: turn.status, messages: turn.messageCount }),
    ...(headTurnId !== undefined && { headTurnId, branched }),
    ...(sessionId !== undefined && { sessionId }),
  };
}
