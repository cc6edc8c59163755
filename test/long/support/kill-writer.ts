import * as wire from "../../../src/contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../../src/contract/gen/quire/v1/message.js";
import { AgentResult } from "../../../src/contract/gen/quire/v1/turn.js";
import type { Random } from "../../model/random.js";
import { recordedTurn } from "../../support/found-turn.js";
import { assistant, toolCalls, toolResults, user } from "../../support/messages.js";
import { call, wireError } from "../../support/server.js";
import { isSame, type KeptSession, type SentMessage, type SentTurn } from "./kept-session.js";

interface Requests {
  readonly recordTurn: wire.RecordTurnRequest;
  readonly beginTurn: wire.BeginTurnRequest;
  readonly appendMessages: wire.AppendMessagesRequest;
  readonly completeTurn: wire.CompleteTurnRequest;
}
type Write = { [M in keyof Requests]: { readonly method: M; readonly request: Requests[M] } }[keyof Requests];
type Written = wire.RecordTurnResponse | wire.BeginTurnResponse;

interface OpenTurn {
  readonly turnId: string;
  readonly messages: readonly SentMessage[];
}

/** What came of the writes whose answers a killed server kept. */
export interface Tally {
  present: number;
  absent: number;
}

/** Writes turns to a session one after the other, whole ones and step by step, until the server is gone. */
export class KillWriter {
  calls = 0;
  private open: OpenTurn | undefined;
  private pending: Write | undefined;

  constructor(
    readonly name: string,
    readonly session: KeptSession,
    /** Whether others write to the session, too. */
    private readonly isShared: boolean,
    private readonly random: Random,
  ) {}

  async run(ledger: wire.LedgerServiceClient, isKilled: () => boolean): Promise<void> {
    for (;;) {
      const write = this.next();
      try {
        this.keep(write, await send(ledger, write));
      } catch (error) {
        if (isKilled()) {
          this.pending = write;
          return;
        }
        const { reason, metadata, message } = wireError(error);
        if (reason !== "HEAD_MOVED" || !this.isShared) throw new Error(`${this.name}: ${reason} ${message}`);
        this.session.head = metadata.head_turn_id!;
      }
    }
  }

  /** The finished turn that the write under way would have made. */
  get maybe(): SentTurn | undefined {
    if (this.pending?.method === "recordTurn") return { messages: sentBy(this.pending) };
    if (this.pending?.method !== "completeTurn") return undefined;
    return { turnId: this.open!.turnId, messages: [...this.open!.messages, ...sentBy(this.pending)] };
  }

  /**
   * Looks for what the write under way left, then sends it again: it must give what is there, or write once. `finished` is the
   * turn that was found on the thread, if it was.
   */
  async settle(ledger: wire.LedgerServiceClient, finished: string | undefined, tally: Tally): Promise<void> {
    const present = finished ?? (await this.findOpen(ledger));
    const write = this.pending;
    this.pending = undefined;
    if (!write) return;
    tally[present === undefined ? "absent" : "present"]++;
    let answer: Written;
    try {
      answer = await send(ledger, write);
    } catch (error) {
      const { reason, metadata, message } = wireError(error);
      // Another writer's turn came first, as it may when the write did not happen.
      if (reason !== "HEAD_MOVED" || !this.isShared || present !== undefined)
        throw new Error(`${this.name}: ${message}`);
      this.session.head = metadata.head_turn_id!;
      return;
    }
    if (present !== undefined && answer.turn!.id !== present) {
      throw new Error(`${write.method} was done as ${present}, and again as ${answer.turn!.id}`);
    }
    const again = await send(ledger, write);
    if (JSON.stringify(again) !== JSON.stringify(answer)) throw new Error("a replay has another answer");
    if (finished === undefined) this.keep(write, answer);
    else this.open = write.method === "completeTurn" ? undefined : this.open;
  }

  /** The open turn is as it was acknowledged, or has all that the write under way would add; nothing else is open. */
  private async findOpen(ledger: wire.LedgerServiceClient): Promise<string | undefined> {
    if (this.isShared) return undefined;
    const [id, ...others] = await this.session.openTurns(ledger);
    const write = this.pending;
    const mayBeNew = this.open === undefined && write?.method === "beginTurn";
    const isExpected = mayBeNew || id === this.open?.turnId;
    if (!isExpected || others.length > 0)
      throw new Error(`${this.name}: ${[id, ...others]} should not be open`);
    if (id === undefined) return undefined;
    const request = { turnId: id };
    const found = await call<wire.GetTurnRequest, wire.GetTurnResponse>(ledger, ledger.getTurn, request);
    const { messages } = recordedTurn(found).result!;
    const before = this.open?.messages ?? [];
    if (this.open && isSame(messages, { messages: before })) return undefined;
    const mayBeLonger = mayBeNew || write?.method === "appendMessages";
    if (mayBeLonger && isSame(messages, { messages: [...before, ...sentBy(write!)] })) return id;
    throw new Error(`${this.name}: open turn ${id} is in no state that was ever written`);
  }

  private next(): Write {
    const open = this.open;
    const random = this.random;
    const requestId = `${this.name}-${this.calls++}`;
    const said = `${requestId} ${"word ".repeat(random.below(200))}`;
    if (open) {
      const { turnId } = open;
      if (random.chance(0.6)) {
        const messages = [toolCalls(requestId), toolResults(requestId)];
        return {
          method: "appendMessages",
          request: wire.AppendMessagesRequest.create({ requestId, turnId, messages }),
        };
      }
      const result = AgentResult.create({ messages: random.chance(0.5) ? [assistant(said)] : [] });
      return {
        method: "completeTurn",
        request: wire.CompleteTurnRequest.create({ requestId, turnId, result }),
      };
    }
    const place = {
      requestId,
      session: this.session.id,
      parentTurnId: this.session.head,
      messages: [user(said)],
    };
    if (!this.isShared && random.chance(0.3)) {
      return { method: "beginTurn", request: wire.BeginTurnRequest.create(place) };
    }
    const messages = [toolCalls(requestId), toolResults(requestId), assistant("done")];
    const result = AgentResult.create({ messages });
    return { method: "recordTurn", request: wire.RecordTurnRequest.create({ ...place, result }) };
  }

  private keep(write: Write, { turn, messageIds }: Written): void {
    const added = sentBy(write).map(({ message }, index) => ({ message, id: messageIds[index]! }));
    const messages = [...(this.open?.messages ?? []), ...added];
    const isFinished = write.method === "recordTurn" || write.method === "completeTurn";
    this.open = isFinished ? undefined : { turnId: turn!.id, messages };
    if (isFinished) this.session.keep(turn!.id, messages);
  }
}

function sentBy(write: Write): SentMessage[] {
  const { request } = write;
  const given: readonly Message[] = "messages" in request ? request.messages : [];
  const result: readonly Message[] = "result" in request ? (request.result?.messages ?? []) : [];
  return [...given, ...result].map((message) => ({ message }));
}

function send(ledger: wire.LedgerServiceClient, { method, request }: Write): Promise<Written> {
  type Send = (request: Write["request"], done: (error: never, answer: Written) => void) => unknown;
  return call(ledger, ledger[method] as unknown as Send, request);
}
