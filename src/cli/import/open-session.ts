import { AgentRole } from "../../contract/gen/quire/v1/origin.js";
import { type Session, SessionDefaults } from "../../contract/gen/quire/v1/session.js";
import { sha256 } from "../../domain/hash.js";
import type { PlannedSession } from "../../transcripts/import/transcript.js";
import { CliError } from "../cli-error.js";
import { CallError } from "../client/call-error.js";
import { findSession } from "../client/find-session.js";
import type { Ledger } from "../client/quire-client.js";
import { retrying } from "./write-turn.js";

const attempts = 20;

/** What a session hangs on. */
export interface SessionRoots {
  readonly forkTurnId: string | undefined;
  readonly parentSessionId: string | undefined;
}

/** Makes the session of a plan. */
export async function openSession(
  ledger: Ledger,
  planned: PlannedSession,
  fileHash: string,
  roots: SessionRoots,
): Promise<Session> {
  const label = sha256(Buffer.from(planned.label)).toString("hex").slice(0, 16);
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const requestId = `import-${fileHash.slice(0, 32)}-${label}-${attempt}`;
    const made = await request(ledger, planned, requestId, roots);
    // A stored answer may be about a session that was deleted since: then the next request id is a fresh one.
    const found = made && (await retrying(() => findSession(ledger, planned.label)));
    if (found && found.id === made.id) return found;
  }
  throw new CliError(`the session "${planned.label}" cannot be made: it is deleted as soon as it is there`);
}

async function request(
  ledger: Ledger,
  planned: PlannedSession,
  requestId: string,
  { forkTurnId, parentSessionId }: SessionRoots,
): Promise<Session | undefined> {
  const { label, workspacePath, metadata, subAgent } = planned;
  const common = { requestId, label, workspacePath, metadata };
  try {
    if (forkTurnId) {
      const at = { $case: "turnId", value: forkTurnId } as const;
      return (await retrying(() => ledger.forkSession({ ...common, at }))).session;
    }
    const link = subAgent && {
      parentSessionId: parentSessionId ?? "",
      parentTurnId: "",
      spawningCallId: subAgent.spawningCallId,
      task: subAgent.task,
      taskStatus: subAgent.taskStatus,
    };
    // What it was told is not known: then it is no worker, which would need to be told something.
    const untold = subAgent?.task === "" ? SessionDefaults.create({ role: AgentRole.UNIFIED }) : undefined;
    return (
      await retrying(() =>
        ledger.createSession({ ...common, subAgent: link, defaults: planned.defaults ?? untold }),
      )
    ).session;
  } catch (error) {
    if (error instanceof CallError && error.reason === "REQUEST_ID_REUSED") return undefined;
    throw error;
  }
}
