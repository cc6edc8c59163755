import { Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { type Turn, TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import type { Quire } from "../../src/index.js";
import { Random } from "../model/random.js";
import { recordedTurn } from "../support/found-turn.js";
import type { WrittenTurn } from "./check-context.js";
import { textPart, Writer } from "./random-messages.js";

/** A session that was written at random, the same for the same seed. */
export interface RandomThread {
  readonly session: string;
  readonly turns: readonly WrittenTurn[];
  /** An open turn under the head, if there is one. */
  readonly active: WrittenTurn | undefined;
}

/** The messages of one turn, and whether it leaves calls open or gives up those of the turn before. */
export function writeTurn(writer: Writer): { messages: Message[]; abandons: boolean; awaits: boolean } {
  const { random } = writer;
  const messages: Message[] = random.chance(0.15)
    ? [Message.create({ role: MessageRole.SYSTEM, parts: [textPart(writer.text(60))] })]
    : [];
  let abandons = false;
  if (writer.open.length > 0) {
    messages.push(...writer.answers(random.below(writer.open.length + 2)));
    const answered = messages.some(({ role }) => role !== MessageRole.SYSTEM);
    if (answered && writer.open.length > 0 && random.chance(0.2)) return { messages, abandons, awaits: true };
    abandons = writer.open.length > 0;
    writer.open = [];
    if (abandons && answered && random.chance(0.2)) return { messages, abandons, awaits: false };
  }
  if (messages.every(({ role }) => role === MessageRole.SYSTEM) || random.chance(0.5))
    messages.push(writer.user());
  for (let rounds = random.below(5); rounds > 0; rounds--)
    messages.push(writer.call(), ...writer.answers(10));
  if (random.chance(0.2)) {
    messages.push(writer.call(), ...writer.answers(random.below(2)));
    return { messages, abandons, awaits: writer.open.length > 0 };
  }
  messages.push(writer.say());
  return { messages, abandons, awaits: false };
}

export function written(id: string, messages: readonly Message[]): WrittenTurn {
  const spoken = messages.flatMap(({ role }, index) => (role === MessageRole.SYSTEM ? [] : [index]));
  return { id, spoken };
}

/** Writes a session: tool loops, parallel calls, approvals, waiting, abandoned, failed and open turns, and sometimes a fork of it. */
export async function writeRandomThread(
  quire: Quire,
  seed: number,
  afterTurn: (session: string) => Promise<void> = async () => undefined,
  writerOf: (random: Random) => Writer = (random) => new Writer(random),
): Promise<RandomThread> {
  const random = new Random(seed);
  const writer = writerOf(random);
  let session = `random-${seed}`;
  await quire.ledger.createSession({ label: session });
  let turns: WrittenTurn[] = [];
  for (let left = 1 + random.below(14); left > 0; left--) {
    const parentTurnId = turns.at(-1)?.id ?? "";
    const before = [...writer.open];
    const { messages, abandons, awaits } = writeTurn(writer);
    const fails = random.chance(0.1);
    const status = fails ? TurnStatus.FAILED : awaits ? TurnStatus.AWAITING : TurnStatus.COMPLETED;
    const request = { session, parentTurnId, abandonOpenItems: abandons };
    let turn: Turn | undefined;
    if (random.chance(0.3)) {
      const at = random.below(messages.length + 1);
      const begun = await quire.ledger.beginTurn({ ...request, messages: messages.slice(0, at) });
      turn = begun.turn;
      await quire.ledger.completeTurn({ turnId: turn!.id, status, result: { messages: messages.slice(at) } });
    } else {
      ({ turn } = await quire.ledger.recordTurn({ ...request, messages, status }));
    }
    if (fails) writer.open = before;
    else turns.push(written(turn!.id, messages));
    if (turns.length > 2 && writer.open.length === 0 && random.chance(0.05)) {
      const at = 1 + random.below(turns.length - 1);
      const label = `${session}-fork`;
      const forked = await quire.ledger
        .forkSession({ at: { $case: "turnId", value: turns[at - 1]!.id }, label })
        .catch(() => undefined);
      const open = forked
        ? recordedTurn(await quire.ledger.getTurn({ turnId: turns[at - 1]!.id })).turn!.openItems.length
        : 1;
      if (forked && open === 0) {
        session = label;
        turns = turns.slice(0, at);
      }
    }
    await afterTurn(session);
  }
  return {
    session,
    turns,
    active: random.chance(0.4)
      ? await beginActive(quire, writer, session, turns.at(-1)?.id ?? "")
      : undefined,
  };
}

async function beginActive(
  quire: Quire,
  writer: Writer,
  session: string,
  parentTurnId: string,
): Promise<WrittenTurn> {
  const { messages } = writeTurn(writer);
  const kept = messages.slice(0, writer.random.below(messages.length + 1));
  const { turn } = await quire.ledger.beginTurn({
    session,
    parentTurnId,
    messages: kept,
    abandonOpenItems: true,
  });
  return written(turn!.id, kept);
}
