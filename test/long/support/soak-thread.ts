import type { AssembleResponse } from "../../../src/contract/gen/quire/v1/assembly_service.js";
import type { LedgerServiceClient } from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { type Turn, TurnScope } from "../../../src/index.js";
import { tightContext } from "../../assembly/long-session.js";
import { checkStreamed, contentHash, groupByTurn, streamHistory } from "../../model/streamed.js";
import { assistant, toolCalls, toolResults, user } from "../../support/messages.js";
import type { SoakCalls } from "./soak-calls.js";

/** Few enough that a thread is compacted several times in its life. */
const historyTokens = 1_500;

/** One session, what was acknowledged of it, and all that can be done with it. */
export class SoakThread {
  private receiptIds: string[] = [];
  private aliases = 0;

  private constructor(
    private readonly calls: SoakCalls,
    readonly id: string,
    readonly turns: Turn[],
  ) {}

  static async create(calls: SoakCalls): Promise<SoakThread> {
    const requestId = calls.requestId();
    const metadata = { purpose: "soak" };
    const { session } = await calls.write((quire, options) =>
      quire.ledger.createSession({ requestId, label: requestId, metadata }, options),
    );
    return new SoakThread(calls, session!.id, []);
  }

  async fork(): Promise<SoakThread> {
    const requestId = this.calls.requestId();
    const { session } = await this.calls.write((quire, options) =>
      quire.ledger.forkSession({ requestId, session: this.id }, options),
    );
    return new SoakThread(this.calls, session!.id, [...this.turns]);
  }

  private get head(): string {
    return this.turns.at(-1)?.id ?? "";
  }

  private said(): string {
    const { random } = this.calls;
    const words = "parcel river house window letter garden seven people waited until morning".split(" ");
    const count = 50 + random.below(300);
    return `${this.calls.requestId()}: ${Array.from({ length: count }, () => random.pick(words)).join(" ")}.`;
  }

  /** A turn at once, often as the answer to the context that was assembled last. */
  async record(): Promise<void> {
    const requestId = this.calls.requestId();
    const request = {
      requestId,
      session: this.id,
      parentTurnId: this.head,
      messages: [user(this.said())],
      result: { messages: [toolCalls(requestId), toolResults(requestId), assistant(this.said())] },
      assemblyId: this.calls.random.chance(0.7) ? (this.receiptIds.at(-1) ?? "") : "",
    };
    const { turn } = await this.calls.write((quire, options) => quire.ledger.recordTurn(request, options));
    this.turns.push(turn!);
  }

  /** A turn step by step. */
  async loop(): Promise<void> {
    const begin = {
      requestId: this.calls.requestId(),
      session: this.id,
      parentTurnId: this.head,
      messages: [user(this.said())],
    };
    const { turn } = await this.calls.write((quire, options) => quire.ledger.beginTurn(begin, options));
    const turnId = turn!.id;
    for (let steps = 1 + this.calls.random.below(3); steps > 0; steps--) {
      const requestId = this.calls.requestId();
      const append = { requestId, turnId, messages: [toolCalls(requestId), toolResults(requestId)] };
      await this.calls.write((quire, options) => quire.ledger.appendMessages(append, options));
      if (this.calls.random.chance(0.3)) await this.assemble(turnId);
    }
    const result = { messages: [assistant(this.said())] };
    const complete = { requestId: this.calls.requestId(), turnId, result };
    const completed = await this.calls.write((quire, options) =>
      quire.ledger.completeTurn(complete, options),
    );
    this.turns.push(completed.turn!);
  }

  /** A write under a parent that is no longer the head writes nothing. */
  async recordLate(): Promise<void> {
    if (this.turns.length < 2) return;
    const request = { session: this.id, parentTurnId: this.turns.at(-2)!.id, messages: [user("late")] };
    await this.calls.read((quire, options) => quire.ledger.recordTurn(request, options), ["HEAD_MOVED"]);
  }

  async assemble(activeTurnId = ""): Promise<void> {
    const context = { ...this.context(), ...(activeTurnId ? { activeTurnId, event: undefined } : {}) };
    await this.calls.read(async (quire, options) => {
      for await (const { event } of quire.assembly.assemble({ context }, options)) this.noteReceipt(event);
    });
  }

  async build(): Promise<void> {
    const answer = await this.calls.read((quire, options) =>
      quire.assembly.buildContext({ context: this.context() }, options),
    );
    if (answer) this.receiptIds.push(answer.context!.assemblyId);
  }

  private context() {
    return tightContext(this.id, historyTokens, { keepTurns: 1 });
  }

  private noteReceipt(event: AssembleResponse["event"]): void {
    if (event?.$case === "completed") this.receiptIds.push(event.value.assemblyId!);
    this.receiptIds = this.receiptIds.slice(-8);
  }

  async readReceipts(): Promise<void> {
    if (this.receiptIds.length < 2) return;
    const [first, second] = [this.calls.random.pick(this.receiptIds), this.receiptIds.at(-1)!];
    await this.calls.read(({ assembly }, options) => assembly.getReceipt({ assemblyId: first }, options));
    await this.calls.read(({ assembly }, options) => assembly.replayContext({ assemblyId: first }, options));
    const compared = { firstAssemblyId: first, secondAssemblyId: second };
    await this.calls.read(({ assembly }, options) => assembly.compareReceipts(compared, options));
  }

  async readBack(): Promise<void> {
    const thread = { $case: "session" as const, value: this.id };
    await this.calls.read(async ({ ledger }, options) => {
      for await (const _ of ledger.streamHistory({ thread }, options));
    });
    const scope = TurnScope.WRITTEN;
    await this.calls.read(({ ledger }, options) => ledger.listTurns({ session: this.id, scope }, options));
    await this.calls.read(({ ledger }, options) => ledger.listSessions({ pageSize: 20 }, options));
    await this.calls.read(({ assembly }, options) => assembly.getCacheReport({ session: this.id }, options));
  }

  /** A name more, or one less: so that a session has a few at most. */
  async alias(): Promise<void> {
    const isMore = this.aliases < 3;
    const alias = `${this.id.slice(-12)}/${isMore ? this.aliases++ : --this.aliases}`;
    const request = { requestId: this.calls.requestId(), alias };
    await this.calls.write<unknown>((quire, options) =>
      isMore
        ? quire.ledger.aliasSession({ ...request, session: this.id }, options)
        : quire.ledger.unaliasSession(request, options),
    );
  }

  async compact(): Promise<void> {
    const request = { requestId: this.calls.requestId(), session: this.id, keepTurns: 2 };
    await this.calls.read(
      (quire, options) => quire.ledger.compact(request, options),
      ["NOTHING_TO_COMPACT", "COMPACTION_OUTDATED", "COMPACTION_FAILED"],
    );
  }

  /** Without a request id, whose answer would be kept for a day: what a deletion leaves behind must not add up here. */
  async delete(): Promise<void> {
    const request = { session: this.id };
    await this.calls.read((quire, options) => quire.ledger.deleteSession(request, options));
    await this.calls.read((quire) => quire.ledger.deleteSession(request), ["SESSION_NOT_FOUND"]);
  }

  /** Every turn that was acknowledged is there, in order, with the bytes that its hash stands for. */
  async faults(ledger: LedgerServiceClient): Promise<string[]> {
    const streamed = await streamHistory(ledger, this.id);
    const found = groupByTurn(streamed.messages);
    const ids = [...found.keys()];
    const isComplete = ids.length === this.turns.length && this.turns.every(({ id }, at) => id === ids[at]);
    const changed = this.turns.filter(
      ({ id, contentHash: hash }) => !contentHash(found.get(id) ?? []).equals(hash),
    );
    return [
      ...checkStreamed(streamed),
      ...(isComplete ? [] : [`${this.turns.length} turns were acknowledged, and ${ids.length} are there`]),
      ...changed.map(({ id }) => `turn ${id} is not what was acknowledged`),
    ];
  }
}
