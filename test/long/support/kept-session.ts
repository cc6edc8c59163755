import * as wire from "../../../src/contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../../src/contract/gen/quire/v1/message.js";
import { TurnStatus } from "../../../src/contract/gen/quire/v1/turn.js";
import { chainHash } from "../../../src/domain/hash.js";
import { contentHash, contentOf, groupByTurn, streamHistory } from "../../model/streamed.js";
import { call } from "../../support/server.js";

/** A message as it was sent; with its id, once the server has acknowledged it. */
export interface SentMessage {
  readonly message: Message;
  readonly id?: string | undefined;
}

/** A turn as it must be found; without an id when nobody knows whether it was written. */
export interface SentTurn {
  readonly turnId?: string | undefined;
  readonly messages: readonly SentMessage[];
}

/** A session, with every turn that was acknowledged. */
export class KeptSession {
  head = "";
  acknowledged = 0;
  private readonly unverified = new Map<string, SentTurn>();
  private verifiedTurns = 0;
  private verifiedHead = "";
  private verifiedChain: Buffer | undefined;

  constructor(readonly id: string) {}

  /** Notes a finished turn that the server acknowledged. */
  keep(turnId: string, messages: readonly SentMessage[]): void {
    this.head = turnId;
    if (this.unverified.has(turnId)) return;
    this.unverified.set(turnId, { turnId, messages });
    this.acknowledged++;
  }

  /**
   * Reads what was written since the last look. All that was acknowledged must be there, whole, in one chain; besides it only
   * what `maybe` holds, each at most once. The ids of those that are there, by their place in `maybe`.
   */
  async verify(ledger: wire.LedgerServiceClient, maybe: readonly SentTurn[]): Promise<Map<SentTurn, string>> {
    const { thread, messages } = await streamHistory(ledger, this.id, this.verifiedHead);
    const present = new Map<SentTurn, string>();
    for (const [turnId, found] of groupByTurn(messages)) {
      const sent =
        this.unverified.get(turnId) ?? maybe.find((turn) => !present.has(turn) && isSame(found, turn));
      if (!sent) throw new Error(`turn ${turnId} was never sent, is there twice, or is not whole`);
      if (!isSame(found, sent)) throw new Error(`turn ${turnId} is not as it was sent`);
      if (!this.unverified.delete(turnId)) present.set(sent, turnId);
      this.verifiedChain = chainHash(this.verifiedChain, contentHash(found));
      this.verifiedTurns++;
    }
    if (this.unverified.size > 0)
      throw new Error(`acknowledged turns are lost: ${[...this.unverified.keys()]}`);
    if (thread.depth !== this.verifiedTurns) {
      throw new Error(`the thread has ${thread.depth} turns, of which ${this.verifiedTurns} were found`);
    }
    if (this.verifiedTurns > 0 && !this.verifiedChain!.equals(thread.chainHash)) {
      throw new Error("the chain of hashes is broken");
    }
    this.verifiedHead = thread.headTurnId;
    this.head = thread.headTurnId;
    // What was found beyond the acknowledged ones counts as acknowledged by the retry, which must give the same turn.
    this.acknowledged += present.size;
    return present;
  }

  /** Forgets what was verified, and reads the whole thread again. */
  async verifyAll(ledger: wire.LedgerServiceClient): Promise<number> {
    const { thread, messages } = await streamHistory(ledger, this.id);
    const turns = groupByTurn(messages);
    let chain: Buffer | undefined;
    for (const found of turns.values()) chain = chainHash(chain, contentHash(found));
    const isWhole = turns.size === this.verifiedTurns && thread.depth === this.verifiedTurns;
    const isSameChain = chain === undefined ? this.verifiedTurns === 0 : chain.equals(this.verifiedChain!);
    if (!isWhole || !isSameChain) throw new Error(`session ${this.id} is not what it was`);
    return turns.size;
  }

  /** The open turns of the session. */
  async openTurns(ledger: wire.LedgerServiceClient): Promise<string[]> {
    const request = wire.ListTurnsRequest.create({
      session: this.id,
      scope: wire.TurnScope.WRITTEN,
      statuses: [TurnStatus.OPEN, TurnStatus.FAILED],
      pageSize: 100,
    });
    const { turns } = await call<wire.ListTurnsRequest, wire.ListTurnsResponse>(
      ledger,
      ledger.listTurns,
      request,
    );
    return turns.map((turn) => turn.id);
  }
}

/** Whether messages that were found are, each and in order, those that were sent. */
export function isSame(found: readonly Message[], sent: SentTurn): boolean {
  if (found.length !== sent.messages.length) return false;
  return found.every((message, index) => {
    const should = sent.messages[index]!;
    const isSameId = should.id === undefined || should.id === message.id;
    return message.index === index && isSameId && contentOf(message).equals(contentOf(should.message));
  });
}
