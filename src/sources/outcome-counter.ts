import { MessageRole } from "../domain/message.js";
import type { OutcomeCursor, OutcomeRow, UncountedTurn } from "../storage/source/rows.js";
import type { SourceStore } from "../storage/source/source-store.js";
import { decodeMessages } from "../thread/message-codec.js";

/** So many turns are counted in one step. */
const turnsPerStep = 64;
/** Calls that wait for their results are remembered by name, so many at the most. */
const maxOpen = 256;

/**
 * Counts how often an agent's tools were called, and how often that failed. Each session has a cursor that moves in the transaction that counts:
 * a turn is counted once, whenever that happens, and the ledger is never read twice.
 */
export class OutcomeCounter {
  private readonly running = new Map<string, Promise<void>>();

  constructor(
    private readonly store: SourceStore,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** An agent's outcomes, when what a session's turns have added is counted. */
  async counted(tenantId: string, agent: string, sessionId: string): Promise<readonly OutcomeRow[]> {
    await this.catchUp(tenantId, agent, sessionId);
    return this.store.outcomes(tenantId, agent);
  }

  /** What `counted` would give, without counting anything. */
  async foreseen(tenantId: string, agent: string, sessionId: string): Promise<readonly OutcomeRow[]> {
    for (;;) {
      const start = await this.store.cursor(tenantId, sessionId);
      const found: OutcomeRow[] = [];
      for (let before = start; ; ) {
        const turns = await this.store.uncounted(tenantId, sessionId, before?.turnId ?? "", turnsPerStep);
        const { after, outcomes, counted } = foldTurns(before, turns);
        if (!after || counted === 0) break;
        found.push(...outcomes);
        before = after;
        if (turns.length < turnsPerStep) break;
      }
      const outcomes = sumOf([...(await this.store.outcomes(tenantId, agent)), ...found]);
      // Somebody has counted meanwhile: some of it would be there twice.
      if ((await this.store.cursor(tenantId, sessionId))?.turnId === start?.turnId) return outcomes;
    }
  }

  /** Counts what a session's turns have added. Calls for the same session share the work. */
  private async catchUp(tenantId: string, agent: string, sessionId: string): Promise<void> {
    const key = `${tenantId}/${sessionId}`;
    let work = this.running.get(key);
    if (!work) {
      work = this.count(tenantId, agent, sessionId)
        .catch(this.onFailure)
        .finally(() => this.running.delete(key));
      this.running.set(key, work);
    }
    await work;
  }

  async idle(): Promise<void> {
    await Promise.all(this.running.values());
  }

  private async count(tenantId: string, agent: string, sessionId: string): Promise<void> {
    for (;;) {
      const before = await this.store.cursor(tenantId, sessionId);
      const turns = await this.store.uncounted(tenantId, sessionId, before?.turnId ?? "", turnsPerStep);
      const { after, outcomes, counted } = foldTurns(before, turns);
      if (!after || counted === 0) return;
      const isCounted = await this.store.count(tenantId, agent, { sessionId, before, after, outcomes });
      // Another server was faster: what it left is looked at again.
      if (isCounted && turns.length < turnsPerStep) return;
    }
  }
}

/** One row for each tool, by name. */
function sumOf(rows: readonly OutcomeRow[]): readonly OutcomeRow[] {
  const sums = new Map<string, OutcomeRow>();
  for (const { tool, calls, failures } of rows) {
    const before = sums.get(tool) ?? { calls: 0, failures: 0 };
    sums.set(tool, { tool, calls: before.calls + calls, failures: before.failures + failures });
  }
  return [...sums.values()].sort((a, b) => (a.tool < b.tool ? -1 : 1));
}

interface FoldedTurns {
  readonly after: OutcomeCursor | undefined;
  readonly outcomes: readonly OutcomeRow[];
  readonly counted: number;
}

/** What turns add. An open turn ends the step, unless later turns have passed it by. */
export function foldTurns(before: OutcomeCursor | undefined, turns: readonly UncountedTurn[]): FoldedTurns {
  const lastDone = turns.findLastIndex(({ isOpen }) => !isOpen);
  const done = turns.slice(0, lastDone + 1).filter(({ isOpen }) => !isOpen);
  const open = new Map<string, string>(before ? JSON.parse(before.openJson) : []);
  const counts = new Map<string, { calls: number; failures: number }>();
  for (const { wires } of done) {
    for (const message of wires.flatMap((wire) => decodeMessages(wire))) {
      for (const { content } of message.parts) {
        if (content?.$case === "toolCall" && message.role === MessageRole.ASSISTANT)
          open.set(content.value.callId, content.value.name);
        if (content?.$case !== "toolResult") continue;
        const name = open.get(content.value.callId);
        if (name === undefined) continue;
        open.delete(content.value.callId);
        const count = counts.get(name) ?? { calls: 0, failures: 0 };
        count.calls++;
        if (content.value.isError) count.failures++;
        counts.set(name, count);
      }
    }
  }
  const last = turns[lastDone];
  return {
    after: last && { turnId: last.turnId, openJson: JSON.stringify([...open].slice(-maxOpen)) },
    outcomes: [...counts].map(([tool, count]) => ({ tool, ...count })),
    counted: done.length,
  };
}
