import type { Session } from "../../contract/gen/quire/v1/session.js";
import { type ImportPlan, type PlannedSession, wholeThread } from "../../transcripts/import/transcript.js";
import { CliError } from "../cli-error.js";
import type { Ledger } from "../client/quire-client.js";
import { counted } from "../terminal/printable.js";
import type { Progress } from "../terminal/progress.js";
import { openSession } from "./open-session.js";
import { readThreadState, type ThreadState } from "./thread-state.js";
import { writeTurn } from "./write-turn.js";

const familiesAtOnce = 8;

/** How far the import of one session came. */
export interface WrittenSession {
  readonly label: string;
  /** Empty while there is no such session. */
  readonly id: string;
  readonly headTurnId: string;
  /** The turns of its own, without those that it shares with the session it is forked from. */
  readonly planned: number;
  /** Those that were there already, from an earlier run. */
  readonly found: number;
  /** Those that this run wrote. */
  readonly written: number;
}

/**
 * Writes a plan. Looks at every label first, so that a conflict is found before anything is written. What an earlier run
 * of the same file left is taken up where it ended. A failure is a CliError that says how far each session came.
 */
export async function writePlan(
  ledger: Ledger,
  plan: ImportPlan,
  fileHash: string,
  progress: Pick<Progress, "start" | "advance">,
): Promise<readonly WrittenSession[]> {
  const states: ThreadState[] = [];
  for (const session of plan.sessions) states.push(await readThreadState(ledger, plan, session));
  const writer = new PlanWriter(ledger, plan, fileHash, () => progress.advance(), states);
  progress.start(writer.report().reduce((sum, { planned, found }) => sum + planned - found, 0));
  await writer.write();
  return writer.report();
}

class PlanWriter {
  private readonly sessions: (Session | undefined)[];
  private readonly threads: string[][];
  private readonly writtenTurns: number[];
  private failure: unknown;

  constructor(
    readonly ledger: Ledger,
    readonly plan: ImportPlan,
    readonly fileHash: string,
    readonly onTurn: () => void,
    readonly states: readonly ThreadState[],
  ) {
    this.sessions = states.map(({ session }) => session);
    this.threads = states.map(({ turnIds }) => [...turnIds]);
    this.writtenTurns = states.map(() => 0);
  }

  /** Unrelated sessions side by side, related ones one after the other. */
  async write(): Promise<void> {
    const waiting = families(this.plan);
    const worker = async () => {
      for (let family = waiting.shift(); family; family = waiting.shift()) {
        for (const index of family) await this.writeSession(index);
      }
    };
    const workers = Array.from({ length: familiesAtOnce }, () =>
      worker().catch((error: unknown) => {
        this.failure ??= error;
      }),
    );
    await Promise.all(workers);
    if (this.failure !== undefined) throw this.explained(this.failure);
  }

  report(): readonly WrittenSession[] {
    return this.plan.sessions.map((session, index) => {
      const thread = this.threads[index] ?? [];
      const written = this.writtenTurns[index] ?? 0;
      return {
        label: session.label,
        id: this.sessions[index]?.id ?? "",
        headTurnId: thread.at(-1) ?? "",
        planned: session.turns.length,
        found: Math.max(0, thread.length - (session.forkOf?.turns ?? 0) - written),
        written,
      };
    });
  }

  private async writeSession(index: number): Promise<void> {
    const planned = this.plan.sessions[index];
    const thread = this.threads[index];
    if (!planned || !thread || this.failure !== undefined) return;
    const session = this.sessions[index] ?? (await this.open(planned, thread));
    this.sessions[index] = session;
    const turns = wholeThread(this.plan, planned);
    while (thread.length < turns.length && this.failure === undefined) {
      const number = thread.length;
      const place = {
        session: session.id,
        parentTurnId: thread.at(-1) ?? "",
        // A head that was moved since makes a new id: the stored answer to the old one would be about another thread.
        requestId: `import-${this.fileHash.slice(0, 32)}-${session.id}-${session.headSequence}-${number + 1}`,
      };
      thread.push(await writeTurn(this.ledger, turns[number]!, place));
      this.writtenTurns[index] = (this.writtenTurns[index] ?? 0) + 1;
      this.onTurn();
    }
  }

  private open(planned: PlannedSession, thread: string[]): Promise<Session> {
    const fork =
      planned.forkOf && (this.threads[planned.forkOf.session] ?? []).slice(0, planned.forkOf.turns);
    thread.push(...(fork ?? []));
    return openSession(this.ledger, planned, this.fileHash, {
      forkTurnId: fork?.at(-1),
      parentSessionId: planned.subAgent && this.sessions[planned.subAgent.parent]?.id,
    });
  }

  private explained(failure: unknown): CliError {
    const sessions = this.report();
    const planned = sessions.reduce((sum, session) => sum + session.planned, 0);
    const there = sessions.reduce((sum, session) => sum + session.found + session.written, 0);
    const original = failure instanceof CliError ? failure : undefined;
    const touched = sessions.filter(({ id }) => id !== "").length;
    return new CliError(original?.message ?? String(failure), {
      hints: [
        ...(original?.hints ?? []),
        `the import stopped: ${there} of ${counted(planned, "turn")} are known to be written, in ${counted(touched, "session")}`,
        "the same command takes it up where it ended",
      ],
      details: { ...original?.details, sessions },
      cause: failure,
    });
  }
}

/** Sessions that are forked or spawned from each other, in the order of the plan. */
function families(plan: ImportPlan): number[][] {
  const roots: number[] = [];
  const members = new Map<number, number[]>();
  for (const [index, { forkOf, subAgent }] of plan.sessions.entries()) {
    const parent = forkOf?.session ?? subAgent?.parent;
    const root = parent === undefined ? index : (roots[parent] ?? index);
    roots.push(root);
    members.set(root, [...(members.get(root) ?? []), index]);
  }
  return [...members.values()];
}
