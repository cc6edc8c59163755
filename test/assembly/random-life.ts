import { HistoryReplay } from "../../src/contract/gen/quire/v1/assembly.js";
import { CompressionStrategy } from "../../src/contract/gen/quire/v1/context_settings.js";
import type { Message } from "../../src/contract/gen/quire/v1/message.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import type { Quire } from "../../src/index.js";
import { Random } from "../model/random.js";
import { contextRequest, estimatedModel, exactModel, type PartialContext } from "./agent.js";
import type { WrittenTurn } from "./check-context.js";
import { Writer } from "./random-messages.js";
import { writeTurn, written } from "./random-thread.js";

type OpenCalls = Writer["open"];

/** A turn of the tree, with what it leaves open. */
interface Known {
  readonly turn: WrittenTurn;
  readonly open: OpenCalls;
}

/** A session as it should be. */
export interface LivingSession {
  readonly label: string;
  thread: readonly Known[];
  /** An open turn under the head, of which so many messages are written. */
  active: OpenTurn | undefined;
}

interface OpenTurn {
  readonly id: string;
  readonly messages: readonly Message[];
  readonly count: number;
  readonly status: TurnStatus;
  readonly open: OpenCalls;
}

/** What the next assembly asks for, and the thread that it is about. */
export interface NextContext {
  readonly session: LivingSession;
  readonly context: PartialContext;
  readonly thread: readonly WrittenTurn[];
}

const { SUMMARY, TRUNCATE, IMPORTANCE, TIME_DECAY, WINDOW } = CompressionStrategy;
const strategies = [SUMMARY, SUMMARY, TRUNCATE, IMPORTANCE, TIME_DECAY, WINDOW];

/** Sessions that are written, forked, moved back and compacted by hand at random; the same for the same seed. */
export class RandomLife {
  readonly random: Random;
  readonly sessions: LivingSession[] = [];
  readonly writer: Writer;

  constructor(
    private readonly quire: Quire,
    private readonly seed: number,
  ) {
    this.random = new Random(seed);
    this.writer = new Writer(this.random);
  }

  async begin(): Promise<void> {
    await this.addSession([]);
  }

  /** Does one thing, and says what to assemble after it. */
  async step(): Promise<NextContext> {
    const { random } = this;
    const session = random.pickRecent(this.sessions, 2);
    const what = random.weighted({ write: 60, open: 15, fork: 6, back: 5, compact: 8, nothing: 6 });
    if (what === "fork" && session.thread.length > 0) return this.next(await this.fork(session));
    if (what === "compact") await this.compact(session);
    else if (session.active) await this.goOn(session, session.active);
    else if (what === "back" && session.thread.length > 1) await this.moveBack(session);
    else if (what === "write" || what === "open") await this.write(session, what === "open");
    return this.next(session);
  }

  private async addSession(thread: readonly Known[]): Promise<LivingSession> {
    const session: LivingSession = {
      label: `life-${this.seed}-${this.sessions.length}`,
      thread,
      active: undefined,
    };
    const at = thread.at(-1)?.turn.id;
    if (at) await this.quire.ledger.forkSession({ at: { $case: "turnId", value: at }, label: session.label });
    else await this.quire.ledger.createSession({ label: session.label });
    this.sessions.push(session);
    return session;
  }

  private async fork(session: LivingSession): Promise<LivingSession> {
    return this.addSession(session.thread.slice(0, 1 + this.random.below(session.thread.length)));
  }

  private async moveBack(session: LivingSession): Promise<void> {
    const thread = session.thread.slice(0, 1 + this.random.below(session.thread.length - 1));
    await this.quire.ledger.updateSession({
      session: session.label,
      headTurnId: thread.at(-1)!.turn.id,
      expectedHeadTurnId: session.thread.at(-1)!.turn.id,
    });
    session.thread = thread;
  }

  private async compact(session: LivingSession): Promise<void> {
    const { random } = this;
    const request = {
      session: session.label,
      keepTurns: random.below(4),
      targetTokens: random.chance(0.5) ? 50 + random.below(2_000) : undefined,
      strategy: random.pick(["", "truncate", "importance", "time_decay"]),
      instructions: random.chance(0.5) ? "Keep what is about baggage." : "",
    };
    await this.quire.ledger.compact(request).catch((error: unknown) => {
      if ((error as { readonly reason?: string }).reason !== "NOTHING_TO_COMPACT") throw error;
    });
  }

  private async write(session: LivingSession, staysOpen: boolean): Promise<void> {
    const { random, writer } = this;
    const parent = session.thread.at(-1);
    writer.open = [...(parent?.open ?? [])];
    const { messages, abandons, awaits } = writeTurn(writer);
    const fails = random.chance(0.08);
    const status = fails ? TurnStatus.FAILED : awaits ? TurnStatus.AWAITING : TurnStatus.COMPLETED;
    const request = {
      session: session.label,
      parentTurnId: parent?.turn.id ?? "",
      abandonOpenItems: abandons,
    };
    const open = [...writer.open];
    if (staysOpen) {
      const count = random.below(messages.length + 1);
      const { turn } = await this.quire.ledger.beginTurn({ ...request, messages: messages.slice(0, count) });
      session.active = { id: turn!.id, messages, count, status, open };
      return;
    }
    const { turn } = await this.quire.ledger.recordTurn({ ...request, messages, status });
    if (!fails) session.thread = [...session.thread, { turn: written(turn!.id, messages), open }];
  }

  /** Appends to the open turn, or finishes it. */
  private async goOn(session: LivingSession, active: OpenTurn): Promise<void> {
    const { random } = this;
    const { id, messages, count, status, open } = active;
    const left = messages.length - count;
    if (left > 0 && random.chance(0.6)) {
      const to = count + 1 + random.below(left);
      await this.quire.ledger.appendMessages({ turnId: id, messages: messages.slice(count, to) });
      session.active = { ...active, count: to };
      return;
    }
    await this.quire.ledger.completeTurn({ turnId: id, status, result: { messages: messages.slice(count) } });
    session.active = undefined;
    if (status !== TurnStatus.FAILED)
      session.thread = [...session.thread, { turn: written(id, messages), open }];
  }

  private next(session: LivingSession): NextContext {
    const { random } = this;
    const model = random.pick([exactModel, exactModel, estimatedModel]);
    const { active: open } = session;
    const active =
      open && random.chance(0.9) ? written(open.id, open.messages.slice(0, open.count)) : undefined;
    const context = contextRequest(session.label, model, {
      replay: random.pick([HistoryReplay.AS_SENT, HistoryReplay.CLEAN]),
      activeTurnId: active?.id ?? "",
      maxContextTokens: 100 + random.pick([150, 400, 1_000, 2_000, 4_000, 8_000]),
      settings: {
        keepTurns: random.pick([undefined, 1, 2, 6]),
        maxMessages: random.chance(0.15) ? 1 + random.below(30) : undefined,
        compressionStrategy: random.pick(strategies),
        keepRecent: random.pick([undefined, undefined, 2]),
        softThreshold: 1,
        modelLimits: [{ model, maxTokens: 50_000_000, memoryTokens: random.pick([0, 0, 100]) }],
      },
    });
    const spoken = active && active.spoken.length > 0 ? [active] : [];
    return { session, context, thread: [...session.thread.map(({ turn }) => turn), ...spoken] };
  }
}
