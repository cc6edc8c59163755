import * as wire from "../../src/contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../src/contract/gen/quire/v1/message.js";
import { AgentResult, TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { wireError } from "../support/server.js";
import { type History, type Intent, type Operation, requestIdOf } from "./history.js";
import type { Timed } from "./linearizable.js";
import type { Random } from "./random.js";
import { checkStreamed, streamHistory } from "./streamed.js";

interface KnownSession {
  readonly id: string;
  readonly label: string;
  /** As the last answer said; others may have moved it since. */
  head: string;
}

interface OddRead extends Timed {
  readonly sessionId: string;
  readonly fault: string;
}

const weights = {
  record: 30,
  begin: 9,
  append: 12,
  complete: 10,
  get: 8,
  getTurn: 6,
  tag: 5,
  move: 5,
  fork: 4,
  alias: 7,
  rename: 2,
  create: 2,
  delete: 3,
  again: 10,
};

const names = ["today", "inbox", "draft"];

/** What clients have learned from the answers, and what they may ask for next. */
export class Traffic {
  readonly sessions: KnownSession[] = [];
  private readonly finished: string[] = [];
  private readonly opened: string[] = [];
  private made = 0;
  /** What was wrong with histories that were read while others wrote. */
  readonly oddReads: OddRead[] = [];
  /** Is told of each session as soon as it is known. */
  onSession: (id: string) => void = () => {};

  constructor(
    private readonly random: Random,
    private readonly history: History,
  ) {}

  /** Runs one client until it has made so many calls. Some calls go out twice at once, over two connections. */
  async run(client: number, ledgers: readonly wire.LedgerServiceClient[], calls: number): Promise<void> {
    const own = ledgers[client % ledgers.length]!;
    for (let made = 0; made < calls; made++) {
      if (this.random.chance(0.05) && this.sessions.length > 0) await this.readHistory(own);
      const intent = this.choose();
      const sends = [this.send(client, own, intent)];
      if (requestId(intent) !== "" && this.random.chance(0.08)) {
        sends.push(this.send(client, this.random.pick(ledgers), intent));
      }
      await Promise.all(sends);
    }
  }

  async send(
    client: number,
    ledger: wire.LedgerServiceClient,
    { method, request }: Intent,
  ): Promise<Operation> {
    const op = (await this.history.perform(client, ledger, method, request as never)) as unknown as Operation;
    this.learn(op);
    return op;
  }

  /** A thread that is read while it grows is whole up to the head that it had. */
  private async readHistory(ledger: wire.LedgerServiceClient): Promise<void> {
    const { id: sessionId } = this.random.pick(this.sessions);
    const start = performance.now();
    let faults: string[];
    try {
      faults = checkStreamed(await streamHistory(ledger, sessionId));
    } catch (error) {
      const { reason, message } = wireError(error);
      faults = reason === "SESSION_NOT_FOUND" ? [] : [`the stream failed: ${message}`];
    }
    for (const fault of faults) this.oddReads.push({ sessionId, fault, start, end: performance.now() });
  }

  private learn(op: Operation): void {
    const { error } = op;
    if (error) {
      const moved = this.sessions.find((session) => session.id === error.metadata.session_id);
      if (error.reason === "HEAD_MOVED" && moved) moved.head = error.metadata.head_turn_id ?? "";
      return;
    }
    switch (op.method) {
      case "createSession":
      case "forkSession": {
        const { id, label, headTurnId } = op.answer!.session!;
        if (this.sessions.some((session) => session.id === id)) return;
        this.sessions.push({ id, label, head: headTurnId });
        this.onSession(id);
        return;
      }
      case "deleteSession": {
        // Some go on with a session that is gone.
        const at = this.sessions.findIndex((session) => session.id === op.answer!.sessionId);
        if (at >= 0 && this.random.chance(0.8)) this.sessions.splice(at, 1);
        return;
      }
      case "beginTurn":
        this.opened.push(op.answer!.turn!.id);
        return;
      case "recordTurn":
      case "completeTurn": {
        const { turn, headTurnId } = op.answer!;
        if (turn!.depth > 0) this.finished.push(turn!.id);
        this.knowHead(turn!.sessionId, headTurnId);
        return;
      }
      case "getSession":
      case "updateSession":
        this.knowHead(op.answer!.session!.id, op.answer!.session!.headTurnId);
    }
  }

  private knowHead(sessionId: string, head: string): void {
    const known = this.sessions.find((session) => session.id === sessionId);
    if (known) known.head = head;
  }

  private choose(): Intent {
    if (this.sessions.length < 3) return this.create();
    const kind = this.random.weighted(weights);
    if ((kind === "append" || kind === "complete") && this.opened.length === 0) return this.begin();
    if ((kind === "move" || kind === "getTurn") && this.finished.length === 0) return this.record();
    return kind === "again" ? this.again() : this[kind]();
  }

  private create(): Intent {
    const label = this.random.chance(0.2)
      ? this.random.pick(names)
      : this.random.chance(0.5)
        ? this.fresh("label")
        : "";
    const request = wire.CreateSessionRequest.create({ requestId: this.requestId(), label });
    return { method: "createSession", request };
  }

  private record(): Intent {
    const session = this.random.pick(this.sessions);
    const status = this.random.weighted({ COMPLETED: 85, AWAITING: 7, FAILED: 8 });
    const isBad = this.random.chance(0.04);
    const result = [
      assistant(this.text()),
      ...(status === "AWAITING" ? [toolCalls(this.fresh("call"))] : []),
    ];
    const request = wire.RecordTurnRequest.create({
      requestId: this.requestId(),
      session: this.nameOf(session),
      parentTurnId: this.parentFor(session),
      onHeadMoved: this.onHeadMoved(),
      messages: isBad ? [user(this.text()), toolResults("nobody asked")] : [user(this.text())],
      result: AgentResult.create({ messages: result }),
      status: TurnStatus[status],
      abandonOpenItems: true,
    });
    return { method: "recordTurn", request };
  }

  private begin(): Intent {
    const session = this.random.pick(this.sessions);
    const request = wire.BeginTurnRequest.create({
      requestId: this.requestId(),
      session: this.nameOf(session),
      parentTurnId: this.parentFor(session),
      onHeadMoved: this.onHeadMoved(),
      messages: this.messages(this.random.below(3)),
      abandonOpenItems: true,
    });
    return { method: "beginTurn", request };
  }

  private append(): Intent {
    const isBad = this.random.chance(0.05);
    const request = wire.AppendMessagesRequest.create({
      requestId: this.requestId(),
      turnId: this.random.pickRecent(this.opened, 4),
      messages: isBad ? [toolResults("nobody asked")] : this.messages(1 + this.random.below(2)),
      ...(this.random.chance(0.3) ? { expectedMessageCount: this.random.below(4) } : {}),
    });
    return { method: "appendMessages", request };
  }

  private complete(): Intent {
    const request = wire.CompleteTurnRequest.create({
      requestId: this.requestId(),
      turnId: this.random.pickRecent(this.opened, 4),
      status: this.random.chance(0.15) ? TurnStatus.FAILED : TurnStatus.COMPLETED,
      onHeadMoved: this.onHeadMoved(),
      result: AgentResult.create({ messages: this.messages(this.random.below(2)), stopReason: "end_turn" }),
    });
    return { method: "completeTurn", request };
  }

  private get(): Intent {
    return { method: "getSession", request: { session: this.nameOf(this.random.pick(this.sessions)) } };
  }

  private getTurn(): Intent {
    const turns = this.opened.length > 0 && this.random.chance(0.5) ? this.opened : this.finished;
    return { method: "getTurn", request: { turnId: this.random.pickRecent(turns, 6) } };
  }

  private tag(): Intent {
    const request = wire.UpdateSessionRequest.create({
      requestId: this.requestId(),
      session: this.nameOf(this.random.pick(this.sessions)),
      setMetadata: { [`tag-${this.random.below(5)}`]: this.fresh("value") },
    });
    return { method: "updateSession", request };
  }

  private move(): Intent {
    const session = this.random.pick(this.sessions);
    const request = wire.UpdateSessionRequest.create({
      requestId: this.requestId(),
      session: session.id,
      headTurnId: this.random.pickRecent(this.finished, 10),
      expectedHeadTurnId: session.head,
    });
    return { method: "updateSession", request };
  }

  private rename(): Intent {
    const session = this.random.pick(this.sessions);
    const label = this.random.chance(0.6) ? this.random.pick(names) : this.fresh("label");
    const request = wire.UpdateSessionRequest.create({
      requestId: this.requestId(),
      session: session.id,
      label,
    });
    return { method: "updateSession", request };
  }

  private fork(): Intent {
    const fromTurn = this.finished.length > 0 && this.random.chance(0.6);
    const request = wire.ForkSessionRequest.create({
      requestId: this.requestId(),
      ...(fromTurn
        ? { at: { $case: "turnId", value: this.random.pickRecent(this.finished, 10) } }
        : { session: this.nameOf(this.random.pick(this.sessions)) }),
      label: this.random.chance(0.2) ? this.random.pick(names) : "",
    });
    return { method: "forkSession", request };
  }

  private alias(): Intent {
    const requestId = this.requestId();
    const alias = this.random.pick(names);
    if (this.random.chance(0.3)) return { method: "unaliasSession", request: { requestId, alias } };
    const request = wire.AliasSessionRequest.create({
      requestId,
      alias,
      session: this.random.pick(this.sessions).id,
      replace: this.random.chance(0.5),
    });
    return { method: "aliasSession", request };
  }

  private delete(): Intent {
    const session = this.random.pick(this.sessions);
    return {
      method: "deleteSession",
      request: { requestId: this.requestId(), session: session.id, cascade: false },
    };
  }

  /** An earlier request once more: the same, or another one under its id. */
  private again(): Intent {
    const named = this.history.operations.filter((op) => requestIdOf(op) !== "");
    if (named.length === 0) return this.record();
    const op = this.random.pickRecent(named, 20);
    return (this.random.chance(0.7) ? op : changed(op, this.text())) as Intent;
  }

  private nameOf(session: KnownSession): string {
    const kind = this.random.weighted({ id: 7, label: 2, alias: 1 });
    return kind === "id" ? session.id : kind === "label" ? session.label : this.random.pick(names);
  }

  private parentFor(session: KnownSession): string {
    const kind = this.random.weighted({ head: 80, other: 15, none: 5 });
    if (kind === "none") return "";
    return kind === "head" || this.finished.length === 0
      ? session.head
      : this.random.pickRecent(this.finished, 10);
  }

  private onHeadMoved() {
    return this.random.chance(0.3) ? wire.OnHeadMoved.BRANCH : wire.OnHeadMoved.FAIL;
  }

  private messages(count: number): Message[] {
    return Array.from({ length: count }, () => user(this.text()));
  }

  private text(): string {
    const text = this.fresh("said");
    return this.random.chance(0.05) ? `${text} ${"and so on ".repeat(500)}` : text;
  }

  private requestId(): string {
    return this.random.chance(0.85) ? this.fresh("request") : "";
  }

  private fresh(kind: string): string {
    return `${kind}-${++this.made}`;
  }
}

function requestId(intent: Intent): string {
  return "requestId" in intent.request ? intent.request.requestId : "";
}

/** Another request with the same id, on the same session or turn. */
function changed(op: Operation, text: string): Intent {
  switch (op.method) {
    case "recordTurn":
    case "beginTurn":
    case "appendMessages":
      return { method: op.method, request: { ...op.request, messages: [user(text)] } } as Intent;
    case "updateSession":
      return { method: op.method, request: { ...op.request, setMetadata: { other: text.slice(0, 100) } } };
    default:
      return op as Intent;
  }
}
