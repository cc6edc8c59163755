import { expect } from "vitest";
import type { Message } from "../../src/contract/gen/quire/v1/message.js";
import type { Quire } from "../../src/index.js";
import { Random } from "../model/random.js";
import { contextRequest, estimatedModel, exactModel, type PartialContext } from "./agent.js";
import { messageTokens, type WrittenTurn } from "./check-context.js";
import { bytesOf, type FoldedContext, fold } from "./fold.js";
import { checkBodies, type HeavyStep, heavySize, messagesOf } from "./heavy-turns.js";
import { assembleByRules } from "./keep-rules.js";
import { wholeThread } from "./long-session.js";

const hourMs = 3_600_000;

/** The windows that every session is assembled for, in turn; one of them by a model whose counts are estimates with a margin. */
export const windows = [
  { limit: 8_000, model: exactModel },
  { limit: 64_000, model: estimatedModel },
  { limit: 1_000_000, model: exactModel },
] as const;
type Window = (typeof windows)[number];

/** What a window of a session showed last, and what happened to the session since. */
interface Shown {
  readonly context: FoldedContext;
  readonly turns: number;
  /** Whether its cut may be another one for a reason: the prefix is lost, or somebody compacted by hand. */
  mayMove: boolean;
  /** Every compaction that it began with, in order. */
  readonly seen: string[];
}

interface Living {
  readonly label: string;
  thread: readonly WrittenTurn[];
  readonly shown: Map<Window, Shown>;
  /** How many turns the thread had at each compaction by hand that holds for it. */
  byHand: readonly number[];
}

/** How often what was met. */
export interface Met {
  contexts: number;
  moves: number;
  compactions: number;
  byHand: number;
  forks: number;
  movedHeads: number;
  compared: number;
}

/**
 * Sessions with windows of different sizes, forked, moved back and compacted by hand at random, with turns whose sizes have a heavy tail,
 * caches that go cold, prompts that are rewritten and margins that shrink. The same for the same seed.
 */
export class WindowLife {
  private readonly random: Random;
  private readonly sessions: Living[] = [];
  private readonly capsule: string;
  private edition = 0;

  constructor(
    private readonly quire: Quire,
    private readonly clock: { ms: number },
    private readonly seed: number,
    private readonly met: Met,
  ) {
    this.random = new Random(seed);
    this.capsule = `atlas-${seed}`;
  }

  async live(steps: number): Promise<void> {
    await this.rewrite();
    const { label } = this.add([], []);
    await this.quire.ledger.createSession({ label });
    for (let left = steps; left > 0; left--) await this.step();
  }

  private async step(): Promise<void> {
    const { random } = this;
    const session = random.pickRecent(this.sessions, 3);
    const what = random.weighted({ turn: 70, fork: 7, back: 4, compact: 7, cold: 6, rewrite: 4 });
    if (what === "cold") return this.cool();
    if (what === "rewrite") return this.rewrite();
    await this.leavesOthers(session, () => this.act(session, what));
  }

  private async act(session: Living, what: "turn" | "fork" | "back" | "compact"): Promise<void> {
    const { length } = session.thread;
    if (what === "fork" && length > 0) return this.fork(session);
    if (what === "back" && length > 1) return this.moveBack(session);
    if (what === "compact" && length > 1) return this.compact(session);
    return this.turn(session);
  }

  /** Whatever is done to one session, the history that another one shows stays as it is, byte for byte. */
  private async leavesOthers(session: Living, act: () => Promise<void>): Promise<void> {
    const others = this.sessions.filter((other) => other !== session);
    const other = others.length > 0 ? this.random.pick(others) : undefined;
    // What a model is found to count holds for all its sessions, so this is about those that are counted exactly.
    const window = this.random.pick([windows[0], windows[2]]);
    const before = other && (await this.historyNow(other, window));
    await act();
    if (!other) return;
    this.met.compared++;
    expect(await this.historyNow(other, window), `${other.label} after ${session.label}`).toBe(before);
  }

  private async historyNow(session: Living, window: Window): Promise<string> {
    const context = { ...this.request(session, window, 0), dryRun: true };
    const { history, layer } = await fold(this.quire.assembly.assemble({ context }));
    return `${layer.cutId}\n${bytesOf(history)}`;
  }

  private request(session: Living, { limit, model }: Window, swing: number): PartialContext {
    const words = "parcel ".repeat(Math.round(200 * (1 + 0.3 * Math.sin(swing * 2.3))));
    return contextRequest(session.label, model, {
      capsule: this.capsule,
      maxContextTokens: limit,
      event: { content: [{ content: { $case: "text", value: { text: `And now? ${words}` } } }] },
      settings: {
        modelLimits: [{ model, maxTokens: 2_000_000, memoryTokens: 0 }],
        sources: [{ name: "memory", enabled: false }],
      },
    });
  }

  /** Assembles for one of the windows, looks at what came, and answers it. */
  private async turn(session: Living): Promise<void> {
    const { random, met } = this;
    const window = random.pick(windows);
    const request = this.request(session, window, session.thread.length);
    const context = (await assembleByRules(this.quire, request, session.thread))!;
    checkBodies(context);
    met.contexts++;
    if (context.compaction.some(({ $case }) => $case === "finished")) met.compactions++;
    await this.checkCut(session, window, context);
    if (window.limit === 1_000_000 && session.byHand.length === 0)
      expect(context.layer).toMatchObject({ compactionId: "", turns: session.thread.length });
    const messages = messagesOf(this.heavyTurn());
    const { assemblyId, budget } = context.completed;
    // A model that counts less than it is taken to: its margin shrinks.
    const usage = { inputTokens: Math.round(budget!.used!.total * 0.8), outputTokens: 10 };
    const { turn } = await this.quire.ledger.recordTurn({
      session: session.label,
      messages: messages.slice(0, 1),
      result: { messages: messages.slice(1), usage },
      assemblyId: assemblyId!,
    });
    session.thread = [
      ...session.thread,
      { id: turn!.id, spoken: Array.from({ length: turn!.messageCount }, (_, index) => index) },
    ];
  }

  /** A cut stays while it fits and nothing else is a reason to move it, and one that was left does not come back. */
  private async checkCut(session: Living, window: Window, context: FoldedContext): Promise<void> {
    const last = session.shown.get(window);
    const { compactionId, cutId } = context.layer;
    const where = `${session.label} at ${window.limit}, turn ${session.thread.length}`;
    if (last && last.context.layer.cutId === cutId)
      expect(bytesOf(context.history).startsWith(bytesOf(last.context.history)), where).toBe(true);
    else if (last) {
      this.met.moves++;
      if (!last.mayMove)
        expect(await this.wouldFit(session, last, context), `${where} moved for no reason`).toBe(false);
    }
    const seen = last?.seen ?? [];
    if (seen.at(-1) !== compactionId) seen.push(compactionId);
    expect(new Set(seen).size, `${where} went back and forth: ${seen.join(" ")}`).toBe(seen.length);
    session.shown.set(window, {
      context,
      turns: session.thread.length,
      mayMove: session.thread.length === 0,
      seen,
    });
  }

  /** Whether what was shown last, with the turns since, has room in what there is now. */
  private async wouldFit(session: Living, last: Shown, context: FoldedContext): Promise<boolean> {
    const since = new Set(session.thread.slice(last.turns).map(({ id }) => id));
    const { messages } = await wholeThread(this.quire, session.label);
    const cost = (all: readonly Message[]) => all.reduce((sum, message) => sum + messageTokens(message), 0);
    const counted = cost(last.context.history) + cost(messages.filter(({ turnId }) => since.has(turnId)));
    const { exact, ratio, margin, available, used } = context.completed.budget!;
    const history = exact ? counted : Math.ceil(counted * ratio * (1 + margin));
    return history + used!.total - used!.history <= available;
  }

  private heavyTurn() {
    const { random } = this;
    const size = () => heavySize(random.next());
    const step = (): HeavyStep => ({
      thought: random.chance(0.3) ? size() : null,
      said: random.chance(0.5) ? size() : null,
      calls: Array.from({ length: 1 + random.below(3) }, () => ({ argument: size(), result: size() })),
    });
    const steps = Array.from({ length: random.below(4) }, step);
    return { asked: size(), steps, answer: random.chance(0.8) ? size() : null };
  }

  private add(thread: readonly WrittenTurn[], byHand: readonly number[]): Living {
    const label = `windows-${this.seed}-${this.sessions.length}`;
    const session: Living = { label, thread, shown: new Map(), byHand };
    this.sessions.push(session);
    return session;
  }

  private async fork(from: Living): Promise<void> {
    this.met.forks++;
    const thread = from.thread.slice(0, 1 + this.random.below(from.thread.length));
    const fork = this.add(
      thread,
      from.byHand.filter((turns) => turns <= thread.length),
    );
    const at = { $case: "turnId" as const, value: thread.at(-1)!.id };
    await this.quire.ledger.forkSession({ session: from.label, at, label: fork.label });
  }

  private async moveBack(session: Living): Promise<void> {
    this.met.movedHeads++;
    const expectedHeadTurnId = session.thread.at(-1)!.id;
    session.thread = session.thread.slice(0, 1 + this.random.below(session.thread.length - 1));
    session.byHand = session.byHand.filter((turns) => turns <= session.thread.length);
    session.shown.clear();
    const headTurnId = session.thread.at(-1)!.id;
    await this.quire.ledger.updateSession({ session: session.label, headTurnId, expectedHeadTurnId });
  }

  private async compact(session: Living): Promise<void> {
    const { random } = this;
    const request = {
      session: session.label,
      keepTurns: 1 + random.below(4),
      strategy: random.pick(["", "truncate", "importance", "time_decay"]),
      instructions: random.chance(0.5) ? "Keep what is about trains." : "",
    };
    try {
      await this.quire.ledger.compact(request);
    } catch (error) {
      if ((error as { readonly reason?: string }).reason !== "NOTHING_TO_COMPACT") throw error;
      return;
    }
    this.met.byHand++;
    session.byHand = [...session.byHand, session.thread.length];
    for (const shown of session.shown.values()) shown.mayMove = true;
  }

  private async cool(): Promise<void> {
    this.clock.ms += 2 * hourMs;
    this.letMove();
  }

  private async rewrite(): Promise<void> {
    const corePrompt = `You are Atlas, edition ${++this.edition}.`;
    const persona = { corePrompt, knobs: { intelligenceLevel: 9 }, model: { model: exactModel } };
    await this.quire.capsules.putCapsule({ name: this.capsule, body: { persona } });
    this.letMove();
  }

  private letMove(): void {
    for (const { shown } of this.sessions) for (const each of shown.values()) each.mayMove = true;
  }
}
