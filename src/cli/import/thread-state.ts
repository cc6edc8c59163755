import type { Message } from "../../contract/gen/quire/v1/message.js";
import type { Session } from "../../contract/gen/quire/v1/session.js";
import { contentKey } from "../../transcripts/import/content-key.js";
import { type ImportPlan, type PlannedSession, wholeThread } from "../../transcripts/import/transcript.js";
import { CliError } from "../cli-error.js";
import { findSession } from "../client/find-session.js";
import type { Ledger } from "../client/quire-client.js";

/** How much of a planned session the ledger holds already. */
export interface ThreadState {
  readonly session: Session | undefined;
  /** The turns of its thread that the plan knows, the oldest first. */
  readonly turnIds: readonly string[];
}

/**
 * Looks for a session of the planned label. One that holds the start of the planned thread was left by an import that
 * did not finish, and one that goes on after it has been used since; any other is somebody else's.
 */
export async function readThreadState(
  ledger: Ledger,
  plan: ImportPlan,
  planned: PlannedSession,
): Promise<ThreadState> {
  const { label } = planned;
  const session = await findSession(ledger, label);
  if (!session) return { session, turnIds: [] };
  const keys = wholeThread(plan, planned).map(({ messages }) => contentKey(messages));
  const turns = session.headTurnId ? await readTurns(ledger, session.headTurnId) : [];
  const known = turns.slice(0, keys.length);
  if (session.label !== label || known.some(({ key }, index) => key !== keys[index])) throw taken(label);
  return { session, turnIds: known.map(({ id }) => id) };
}

async function readTurns(ledger: Ledger, headTurnId: string) {
  const turns: { readonly id: string; readonly key: string }[] = [];
  let current: Message[] = [];
  const close = () => {
    const id = current[0]?.turnId;
    if (id) turns.push({ id, key: contentKey(current) });
    current = [];
  };
  const thread = { $case: "turnId", value: headTurnId } as const;
  const request = { thread, view: "HISTORY_VIEW_FULL", afterTurnId: "", lastTurns: 0 } as const;
  for await (const batch of ledger.streamHistory(request)) {
    for (const message of batch.messages) {
      if (current[0] && current[0].turnId !== message.turnId) close();
      current.push(message);
    }
  }
  close();
  return turns;
}

function taken(label: string): CliError {
  return new CliError(`there is a session "${label}" already, and it holds another conversation`, {
    hints: [
      "import under another label: --session <label>",
      `see what it holds: quire turns "${label}" --messages`,
    ],
    details: { reason: "LABEL_TAKEN", metadata: { label } },
  });
}
