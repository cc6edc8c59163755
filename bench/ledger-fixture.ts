import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Message, MessageRole } from "../src/contract/gen/quire/v1/message.js";
import { OnHeadMoved } from "../src/domain/session.js";
import { TurnStatus } from "../src/domain/turn.js";
import { type CreatedSession, createSession } from "../src/ledger/create-session.js";
import type { LedgerDeps } from "../src/ledger/deps.js";
import { createLedger } from "../src/ledger/ledger.js";
import { type RecordedTurn, recordTurn } from "../src/ledger/record-turn.js";
import { type Database, openDatabase } from "../src/storage/database.js";
import type { WriteKey } from "../src/storage/stored-answers.js";
import { TokenCounter } from "../src/tokens/token-counter.js";
import { prose, seeded } from "./measure.js";

export const tenantId = "default";

/** A ledger on a database of its own in a temporary folder. */
export class LedgerFixture {
  private readonly exchanges = new Exchanges(7);
  private constructor(
    readonly folder: string,
    readonly database: Database,
    readonly ledger: LedgerDeps,
    private readonly counter: TokenCounter,
  ) {}

  static async open(historyCacheBytes = 128 * 1024 * 1024): Promise<LedgerFixture> {
    const folder = mkdtempSync(join(tmpdir(), "quire-bench-"));
    const database = await openDatabase({ url: `file:${join(folder, "quire.db")}`, poolSize: 2 });
    const counter = new TokenCounter();
    counter.prepare();
    const ledger = createLedger({ database, counter, historyCacheBytes, watchPollMs: 1_000 });
    return new LedgerFixture(folder, database, ledger, counter);
  }

  async close(): Promise<void> {
    await this.ledger.writer.idle();
    await this.counter.close();
    await this.database.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async session(label: string): Promise<void> {
    const command = { label, workspacePath: "", metadata: {}, subAgent: undefined };
    await createSession(this.ledger, noKey<CreatedSession>("CreateSession"), command);
  }

  /** Records turns one after the other under a head; gives the new head. What each took is added to `tookMs`. */
  async record(
    session: string,
    head: string,
    turns: number,
    messageBytes: number,
    tookMs: number[] = [],
  ): Promise<string> {
    let parentTurnId = head;
    for (let turn = 0; turn < turns; turn++) {
      const started = performance.now();
      const answer = await recordTurn(this.ledger, noKey<RecordedTurn>("RecordTurn"), {
        session,
        parentTurnId,
        onHeadMoved: OnHeadMoved.FAIL,
        details: undefined,
        messages: this.exchanges.next(messageBytes),
        result: undefined,
        status: TurnStatus.COMPLETED,
        abandonOpenItems: false,
        assembly: undefined,
      });
      tookMs.push(performance.now() - started);
      parentTurnId = answer.headTurnId;
    }
    return parentTurnId;
  }
}

const preparedExchanges = 512;

/** Questions and answers, made beforehand: what is measured is how they are written. */
export class Exchanges {
  private readonly prepared = new Map<number, readonly Message[][]>();
  private taken = 0;

  constructor(private readonly seed: number) {}

  /** A question and an answer of so many bytes each. */
  next(bytes: number): Message[] {
    let exchanges = this.prepared.get(bytes);
    if (!exchanges) {
      const random = seeded(this.seed);
      exchanges = Array.from({ length: preparedExchanges }, () => exchange(random, bytes));
      this.prepared.set(bytes, exchanges);
    }
    return exchanges[this.taken++ % preparedExchanges]!;
  }
}

function exchange(random: () => number, bytes: number): Message[] {
  return [MessageRole.USER, MessageRole.ASSISTANT].map((role) => {
    // A text as it comes from the network: in one piece.
    const text = Buffer.from(prose(random, bytes)).toString();
    return Message.create({ role, parts: [{ content: { $case: "text", value: { text } } }] });
  });
}

export function noKey<Answer>(method: string): WriteKey<Answer> {
  const unused = () => {
    throw new Error("a write without request id stores no answer");
  };
  return { tenantId, method, requestId: "", requestHash: Buffer.alloc(0), encode: unused, decode: unused };
}
