import { toMicroseconds } from "../domain/clock.js";
import { HeadMoveCause } from "../domain/session.js";
import type { SessionRow, TurnRow } from "../storage/ledger/rows.js";
import type { SessionTransaction } from "../storage/ledger/session-store.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { newSession } from "./create-session.js";
import type { LedgerDeps } from "./deps.js";
import { limitReached, limits } from "./limits.js";
import { requireFinished, turnNotFound } from "./open-turn.js";
import { requireLabel, type SessionAnswer, sessionAnswer } from "./sessions.js";

export interface ForkSession {
  /** Empty for the session that the named turn was written through. */
  readonly session: string;
  /** Undefined for the session's head. */
  readonly at: { readonly $case: "turnId" | "beforeTurnId"; readonly value: string } | undefined;
  readonly label: string;
  readonly workspacePath: string;
  readonly metadata: { [key: string]: string };
}

/** Makes a session whose head is a finished turn, or the turn before one. The ancestors are shared; what is copied is which compactions apply. */
export async function forkSession(
  deps: LedgerDeps,
  key: WriteKey<SessionAnswer>,
  command: ForkSession,
): Promise<SessionAnswer> {
  requireLabel(command.label, "label");
  const nowUs = toMicroseconds(deps.clock.now());
  return deps.sessions.write(key, nowUs, async (sessions) => {
    const { originId, origin, head } = await findStart(sessions, command);
    const base: SessionRow = {
      ...newSession(deps, key.tenantId, command.label, nowUs),
      workspacePath: command.workspacePath || (origin?.workspacePath ?? ""),
      metadataJson: JSON.stringify(command.metadata),
      ...(origin && {
        task: origin.task,
        defaultsJson: origin.defaultsJson,
        toolsJson: origin.toolsJson,
        reportedLimitsJson: origin.reportedLimitsJson,
      }),
      forkedFromSessionId: originId,
    };
    const forked = await sessions.insert(
      head
        ? {
            ...base,
            headTurnId: head.id,
            headBranchId: head.branchId,
            headDepth: head.depth!,
            headSequence: 1,
            forkedFromTurnId: head.id,
          }
        : base,
    );
    await countFork(sessions, originId);
    if (head) {
      await sessions.copyCompactions(originId, base.id, { branchId: head.branchId!, depth: head.depth! });
      await sessions.logHeadMove({
        tenantId: key.tenantId,
        sessionId: base.id,
        sequence: 1,
        fromTurnId: null,
        toTurnId: head.id,
        cause: HeadMoveCause.FORKED,
        createdUs: nowUs,
      });
    }
    return sessionAnswer(forked);
  });
}

interface ForkStart {
  readonly originId: string;
  /** The session that is forked; undefined where it is gone. */
  readonly origin: SessionRow | undefined;
  /** Undefined before the first turn of a thread. */
  readonly head: TurnRow | undefined;
}

async function findStart(sessions: SessionTransaction, { session, at }: ForkSession): Promise<ForkStart> {
  const named = session === "" ? undefined : await sessions.findRow(session);
  if (!at) {
    const head = named!.headTurnId === null ? undefined : await sessions.findTurn(named!.headTurnId);
    return { originId: named!.id, origin: named, head };
  }
  const turn = await sessions.findTurn(at.value);
  if (!turn) throw turnNotFound(at.value);
  const headId = at.$case === "turnId" ? turn.id : turn.parentTurnId;
  const head =
    headId === null
      ? undefined
      : requireFinished(headId === turn.id ? turn : await sessions.findTurn(headId), headId);
  const origin = named ?? (await sessions.findById(turn.sessionId));
  return { originId: origin?.id ?? turn.sessionId, origin, head };
}

/** After the fork is inserted: names are locked before sessions, by everyone. */
async function countFork(sessions: SessionTransaction, originId: string): Promise<void> {
  if (await sessions.addFork(originId, limits.forks)) return;
  throw limitReached("forks", limits.forks, (await sessions.find(originId)).row.label);
}
