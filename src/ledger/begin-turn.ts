import { toMicroseconds } from "../domain/clock.js";
import { type Lease, type LeaseRequest, OnBusy } from "../domain/lease.js";
import type { Message } from "../domain/message.js";
import type { Turn } from "../domain/turn.js";
import type { Warning } from "../domain/warning.js";
import type { TurnChange, TurnState } from "../storage/ledger/write-turns.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { extendState } from "./check-messages.js";
import type { LedgerDeps } from "./deps.js";
import { type Answered, withAnswered } from "./model-answer.js";
import { takeLease } from "./take-lease.js";
import {
  type AnsweredAssembly,
  draftMessages,
  locate,
  type MessageDraft,
  messageRow,
  type NewTurn,
  pinOf,
  startTurn,
  warningsOf,
  withMessages,
} from "./turn-draft.js";
import { viewLease, viewTurn } from "./views.js";

/** The beginning of a turn that is written step by step, or of one that is written whole. */
export interface BeginTurn extends NewTurn, Answered {
  readonly messages: readonly Message[];
  /** The assembly that it answers to, where it is known. */
  readonly assembly?: AnsweredAssembly | undefined;
  /** What the caller should know of the turn. */
  readonly warnings?: readonly Warning[] | undefined;
}

export interface BegunTurn {
  readonly turn: Turn | undefined;
  readonly messageIds: readonly string[];
  readonly warnings: readonly Warning[];
}

export interface BegunStepwise extends BegunTurn {
  readonly lease: Lease | undefined;
  readonly interrupted: Turn | undefined;
}

/**
 * Opens a turn that is written step by step. It is in no history, and moves no head, until it is completed. With a lease it may have to
 * wait for others; `stepAside` tells the caller, and gives what ends the waiting.
 */
export async function beginTurn(
  deps: LedgerDeps,
  key: WriteKey<BegunStepwise>,
  command: BeginTurn & { readonly lease?: LeaseRequest | undefined },
  signal?: AbortSignal,
  stepAside: () => AbortSignal | undefined = () => signal,
): Promise<BegunStepwise> {
  const { lease } = command;
  const located = withAnswered(locate(command.messages, "messages"), command);
  const drafted = await draftMessages(deps, located, signal);
  const begin = (session: string) => {
    // Those who waited begin when it is their turn.
    const draft = { ...drafted, nowUs: toMicroseconds(deps.clock.now()) };
    return deps.writer.write({
      key,
      createdUs: draft.nowUs,
      bytes: draft.bytes,
      signal,
      target: {
        kind: "session",
        session,
        parentTurnId: command.parentTurnId,
        leaseFrom: lease && (lease.onBusy === OnBusy.INTERRUPT ? "any" : "expired"),
      },
      plan: planTurn(deps, key, command, draft),
    });
  };
  if (!lease) return begin(command.session);
  const mayWait = lease.onBusy === OnBusy.WAIT;
  const begun = mayWait
    ? await deps.leases.wait(key, command.session, drafted.bytes, begin, stepAside)
    : await begin(command.session);
  deps.watches.moved(key.tenantId, begun.turn!.sessionId);
  return begun;
}

function planTurn(
  deps: LedgerDeps,
  key: WriteKey<BegunStepwise>,
  command: BeginTurn & { readonly lease?: LeaseRequest | undefined },
  draft: MessageDraft,
): (found: TurnState) => TurnChange<BegunStepwise> {
  const turnId = deps.ids.next();
  return (found) => {
    const by = { turnId, nowUs: draft.nowUs, ids: deps.ids };
    const taken = command.lease && takeLease(found, command, command.lease, by);
    const start = taken?.found ?? found;
    const { turn: begun, state } = startTurn(start, command, key.tenantId, turnId, draft.nowUs);
    extendState(state, draft.located);
    const turn = withMessages(begun, draft, state);
    return {
      turn,
      messages: messageRow(draft, turn, 0, state),
      pin: pinOf(turn, command.assembly),
      lease: taken?.lease,
      interrupted: taken?.interrupted,
      answer: {
        turn: viewTurn(turn),
        messageIds: draft.ids,
        warnings: warningsOf(turn, command),
        lease: taken && viewLease(taken.lease),
        interrupted: taken?.interrupted && viewTurn(taken.interrupted.turn),
      },
    };
  };
}
