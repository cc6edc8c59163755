import * as wire from "../../src/contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../src/contract/gen/quire/v1/message.js";
import { AgentResult, type Turn, TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import type { LedgerCalls } from "../ledger/ledger-calls.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { type WireError, wireError } from "../support/server.js";
import type { Random } from "./random.js";

/** One leased turn, as its client knows it. Times are those of the calls. */
export interface LeasedTurn {
  readonly id: string;
  readonly parentTurnId: string;
  readonly begun: { readonly start: number; readonly end: number };
  /** What was acknowledged, in order. */
  readonly messageIds: string[];
  readonly writes: { readonly start: number; readonly end: number }[];
  /** How it ended, where the client knows; undefined where it went away. */
  ended: "completed" | "failed" | "interrupted" | undefined;
}

export type Policy = "REJECT" | "WAIT" | "INTERRUPT";

export interface LeaseScene {
  readonly session: string;
  readonly random: Random;
  readonly policies: readonly Policy[];
  readonly seconds: number;
  /** Lets the lease of a turn run out, or waits until it has. */
  readonly expire: (turnId: string) => Promise<void>;
  /** Before a call is made again that was refused because the session is busy, or that did not reach its server. */
  readonly later: () => Promise<void>;
  /** How often a client stops in the middle of a turn, or is so slow that its lease runs out. */
  readonly faults: number;
}

/** A client that says some things, each in a turn of its own, until the ledger has them. Nothing may be lost or doubled. */
export class LeaseClient {
  readonly turns: LeasedTurn[] = [];
  readonly said: string[] = [];
  readonly refused = new Map<string, number>();
  private sent = 0;

  constructor(
    private readonly name: string,
    private readonly ledger: LedgerCalls,
    private readonly scene: LeaseScene,
  ) {}

  async say(count: number): Promise<void> {
    for (let at = 0; at < count; at++) {
      const text = `${this.name} says ${at}`;
      this.said.push(text);
      while (!(await this.tryTurn(text)));
    }
  }

  /** Whether the text is in the thread now. */
  private async tryTurn(text: string): Promise<boolean> {
    const { random, faults } = this.scene;
    const policy = random.pick(this.scene.policies);
    const all = this.stepsOf(text);
    // Who may be interrupted says at once what it has to say: then it is in the thread, whatever comes.
    const [first, ...rest] = all;
    const isSaid = policy === "INTERRUPT" || random.chance(0.3);
    const turn = await this.begin(policy, isSaid ? first! : []);
    if (!turn) return false;
    const steps = isSaid ? rest : all;
    const stopAt = random.chance(faults) ? random.below(steps.length + 1) : -1;
    const slowAt = random.chance(faults) ? random.below(steps.length + 1) : -1;
    for (let step = 0; step <= steps.length; step++) {
      if (step === slowAt) await this.scene.expire(turn.id);
      if (step === stopAt) return this.comeBack(turn);
      const isDone =
        step === steps.length ? await this.complete(turn) : await this.append(turn, steps[step]!);
      if (isDone !== undefined) return isDone;
    }
    throw new Error("a turn that is not completed has an end");
  }

  /** After a stop: the turn that may be open still is ended first, so that its text is in the thread or is not. */
  private async comeBack(turn: LeasedTurn): Promise<boolean> {
    await this.scene.expire(turn.id);
    const failed = wire.CompleteTurnRequest.create({ turnId: turn.id, status: TurnStatus.FAILED });
    const { error } = await this.call("completeTurn", failed);
    if (error) return this.lost(turn, error);
    turn.ended = "failed";
    return false;
  }

  private stepsOf(text: string): Message[][] {
    const answer = [assistant(`to ${text}`)];
    const call = `${this.name}-${this.turns.length}`;
    return this.scene.random.chance(0.5)
      ? [[user(text)], answer]
      : [[user(text), toolCalls(call)], [toolResults(call)], answer];
  }

  private async begin(policy: Policy, messages: Message[]): Promise<LeasedTurn | undefined> {
    const { session, random, seconds } = this.scene;
    const lease = { seconds, onBusy: wire.OnBusy[policy], holder: this.name, discard: random.chance(0.2) };
    const request = wire.BeginTurnRequest.create({ session, lease, messages });
    const { answer, error, start, end } = await this.call("beginTurn", request);
    if (error) {
      if (error.reason !== "SESSION_BUSY") throw new Error(`BeginTurn: ${error.reason} ${error.message}`);
      await this.scene.later();
      return undefined;
    }
    const { turn: opened, messageIds } = answer as wire.BeginTurnResponse;
    const { id, parentTurnId } = opened as Turn;
    const begun = { start, end };
    const turn: LeasedTurn = {
      id,
      parentTurnId,
      begun,
      messageIds: [...messageIds],
      writes: [],
      ended: undefined,
    };
    this.turns.push(turn);
    return turn;
  }

  private async append(turn: LeasedTurn, messages: Message[]): Promise<boolean | undefined> {
    const { answer, error, start, end } = await this.call("appendMessages", { turnId: turn.id, messages });
    if (error) return this.lost(turn, error);
    turn.messageIds.push(...(answer as wire.AppendMessagesResponse).messageIds);
    turn.writes.push({ start, end });
    return undefined;
  }

  private async complete(turn: LeasedTurn): Promise<boolean> {
    const request = wire.CompleteTurnRequest.create({ turnId: turn.id, result: AgentResult.create({}) });
    const { error, start, end } = await this.call("completeTurn", request);
    if (error) return this.lost(turn, error);
    turn.writes.push({ start, end });
    turn.ended = "completed";
    return true;
  }

  /** What a turn had appended when it was interrupted is in the thread, unless the turn was failed. */
  private lost(turn: LeasedTurn, { reason, message, metadata }: WireError): boolean {
    if (reason !== "INTERRUPTED") throw new Error(`${reason}: ${message}`);
    turn.ended = "interrupted";
    return metadata.status !== "FAILED";
  }

  /** A call that does not reach its server is made again, with the same request id, and less and less often. */
  private async call(
    method: "beginTurn" | "appendMessages" | "completeTurn",
    request: object,
  ): Promise<{ answer?: unknown; error?: WireError; start: number; end: number }> {
    const whole = { ...request, requestId: `${this.name}-${this.sent++}` };
    let start: number | undefined;
    for (let tries = 1; ; tries++) {
      // The first try counts: it may have been the one that was done.
      start ??= performance.now();
      try {
        const answer = await this.ledger[method](whole as never);
        return { answer, start, end: performance.now() };
      } catch (thrown) {
        const error = wireError(thrown);
        this.refused.set(error.reason, (this.refused.get(error.reason) ?? 0) + 1);
        const isUnheard = error.code === 14 || error.code === 1;
        if (!isUnheard) return { error, start, end: performance.now() };
        for (let waits = Math.min(tries, 10); waits > 0; waits--) await this.scene.later();
      }
    }
  }
}
