import * as wire from "../../src/contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../src/contract/gen/quire/v1/message.js";
import type { HeadMove, Session } from "../../src/contract/gen/quire/v1/session.js";
import type { Turn } from "../../src/contract/gen/quire/v1/turn.js";
import { chainHash } from "../../src/domain/hash.js";
import type { Database } from "../../src/storage/database.js";
import { recordedTurn } from "../support/found-turn.js";
import { call } from "../support/server.js";
import { turnWriters } from "./check-history.js";
import type { History, Operation } from "./history.js";
import type { Random } from "./random.js";
import { eraseFrom, type Forest } from "./reachability.js";
import { checkStreamed, contentHash, contentOf, groupByTurn, streamHistory } from "./streamed.js";

type Ledger = wire.LedgerServiceClient;

/** What the clients were told against what is there, when nobody writes any more. */
export async function checkLedger(history: History, ledger: Ledger): Promise<string[]> {
  const faults: string[] = [];
  const fault = (text: string) => faults.push(text);
  const writers = turnWriters(history);
  const expected = expectedMessages(history, fault);
  const live = await liveSessions(history, ledger);
  const turns = new Map<string, Turn>();

  for (const [turnId, writer] of writers) {
    const found = await readTurn(ledger, turnId);
    if (found) {
      turns.set(turnId, found.turn!);
      checkTurn(found, expected.get(turnId) ?? [], fault);
    } else if (live.has(writer)) fault(`lost: turn ${turnId} of session ${writer}`);
  }
  for (const session of live.values()) {
    checkHeadLog(history, session, await headLog(ledger, session), fault);
    await checkThread(ledger, session, turns, fault);
    const written = await listTurns(ledger, session.id, wire.TurnScope.WRITTEN);
    const acknowledged = [...writers].filter(([, writer]) => writer === session.id).map(([id]) => id);
    if (`${written.map((turn) => turn.id).sort()}` !== `${acknowledged.sort()}`) {
      fault(
        `session ${session.id} has turns ${written.map((turn) => turn.id)}; acknowledged were ${acknowledged}`,
      );
    }
  }
  return faults;
}

/** Deletes every session, one after the other, and checks each erasure against the reachable turns. */
export async function checkErasures(
  history: History,
  ledger: Ledger,
  storage: Database,
  random: Random,
): Promise<string[]> {
  const faults: string[] = [];
  const live = await liveSessions(history, ledger);
  const turns: Forest["turns"] = new Map(
    (await Promise.all([...turnWriters(history).keys()].map((id) => readTurn(ledger, id)))).flatMap(
      (found) => {
        if (!found) return [];
        const { id, sessionId, parentTurnId, depth } = found.turn!;
        return [[id, { id, sessionId, parent: parentTurnId, finished: depth > 0 }]];
      },
    ),
  );
  const visited = new Map<string, readonly string[]>();
  for (const session of live.values()) {
    visited.set(
      session.id,
      (await headLog(ledger, session)).map((move) => move.toTurnId),
    );
  }
  let forest: Forest = {
    turns,
    sessions: new Map(
      [...live.values()].map(({ id, headTurnId }) => [
        id,
        { id, head: headTurnId, visited: visited.get(id)! },
      ]),
    ),
  };
  while (forest.sessions.size > 0) {
    const sessionId = random.pick([...forest.sessions.keys()]);
    const { erased, keptOfThread } = eraseFrom(forest, sessionId);
    const request = wire.DeleteSessionRequest.create({ session: sessionId });
    const { erasedTurns, keptTurns } = await call<wire.DeleteSessionRequest, wire.DeleteSessionResponse>(
      ledger,
      ledger.deleteSession,
      request,
    );
    if (erasedTurns !== erased.size || keptTurns !== keptOfThread) {
      faults.push(
        `deleting ${sessionId} erased ${erasedTurns} and kept ${keptTurns} turns, not ${erased.size} and ${keptOfThread}`,
      );
    }
    const sessions = new Map([...forest.sessions].filter(([id]) => id !== sessionId));
    forest = { sessions, turns: new Map([...forest.turns].filter(([id]) => !erased.has(id))) };
    const left = new Set(
      (await storage.sqlReader.query("SELECT id FROM turns", [])).map(([id]) => id as string),
    );
    for (const id of left) if (!forest.turns.has(id)) faults.push(`turn ${id} is there after its erasure`);
    for (const id of forest.turns.keys()) if (!left.has(id)) faults.push(`turn ${id} was erased too early`);
  }
  return faults;
}

/** The sessions that are still there, of all that were made. */
export async function liveSessions(history: History, ledger: Ledger): Promise<Map<string, Session>> {
  const ids = new Set([
    ...history.answered("createSession").map(({ answer }) => answer.session!.id),
    ...history.answered("forkSession").map(({ answer }) => answer.session!.id),
  ]);
  const live = new Map<string, Session>();
  for (const session of ids) {
    // Written down like any other call, so that the model must explain what it finds.
    const { answer } = await history.perform(-1, ledger, "getSession", { session });
    if (answer) live.set(session, answer.session!);
  }
  return live;
}

interface ExpectedMessage {
  readonly id: string;
  readonly message: Message;
}

/** The messages of each turn, put together from what was acknowledged. */
function expectedMessages(history: History, fault: (text: string) => void): Map<string, ExpectedMessage[]> {
  const expected = new Map<string, ExpectedMessage[]>();
  const put = (op: Operation, turn: Turn, messages: readonly Message[], ids: readonly string[]) => {
    const all = expected.get(turn.id) ?? [];
    expected.set(turn.id, all);
    const first = turn.messageCount - messages.length;
    messages.forEach((message, offset) => {
      const id = ids[offset]!;
      const there = all[first + offset];
      if (there && there.id !== id)
        fault(`call #${op.number} has the place of another: message ${first + offset} of ${turn.id}`);
      all[first + offset] = { id, message };
    });
  };
  for (const op of history.operations) {
    if (!op.answer || !("messageIds" in op.answer)) continue;
    const { turn, messageIds } = op.answer;
    const given = "messages" in op.request ? op.request.messages : [];
    const result = "result" in op.request ? (op.request.result?.messages ?? []) : [];
    put(op, turn!, [...given, ...result], messageIds);
  }
  return expected;
}

function checkTurn(
  found: wire.RecordedTurn,
  expected: readonly ExpectedMessage[],
  fault: (text: string) => void,
): void {
  const turn = found.turn!;
  const messages = found.result!.messages;
  if (messages.length !== expected.length || turn.messageCount !== expected.length) {
    fault(
      `turn ${turn.id} says ${turn.messageCount}, has ${messages.length}, should have ${expected.length} messages`,
    );
  }
  messages.forEach((message, index) => {
    const should = expected[index];
    if (!should || message.id !== should.id || message.index !== index || message.turnId !== turn.id) {
      fault(`message ${index} of turn ${turn.id} is not the one that was acknowledged`);
    } else if (!contentOf(message).equals(contentOf(should.message))) {
      fault(`message ${index} of turn ${turn.id} has other content than was sent`);
    }
  });
  if (turn.status !== "TURN_STATUS_OPEN" && !turn.contentHash.equals(contentHash(messages))) {
    fault(`turn ${turn.id} has a content hash that is not that of its messages`);
  }
}

/** Every head move is one acknowledged call, and every such call is one head move, in an order that its times allow. */
function checkHeadLog(
  history: History,
  session: Session,
  log: readonly HeadMove[],
  fault: (text: string) => void,
): void {
  const movers = headMovers(history, session.id);
  let head = "";
  let latestStart = 0;
  for (const [index, move] of log.entries()) {
    if (move.sequence !== index + 1) fault(`head log of ${session.id} has a gap at ${move.sequence}`);
    if (move.fromTurnId !== head)
      fault(`head log of ${session.id} jumps to ${move.fromTurnId} at ${move.sequence}`);
    head = move.toTurnId;
    const at = movers.findIndex((op) => headAfter(op) === move.toTurnId && sequenceAfter(op, move.sequence));
    const [op] = at >= 0 ? movers.splice(at, 1) : [];
    if (!op) {
      fault(`nobody was told of move ${move.sequence} of ${session.id}, to ${move.toTurnId}`);
      continue;
    }
    if (op.end < latestStart)
      fault(`move ${move.sequence} of ${session.id} stands after a call that began later`);
    latestStart = Math.max(latestStart, op.start);
  }
  if (head !== session.headTurnId || log.length !== session.headSequence) {
    fault(
      `session ${session.id} is at ${session.headTurnId} (${session.headSequence}), its log at ${head} (${log.length})`,
    );
  }
  for (const op of movers)
    fault(`call #${op.number} (${op.method}) moved the head of ${session.id}, but no log says so`);
}

/** The calls that moved a session's head, each once however often it was replayed. */
function headMovers(history: History, sessionId: string): Operation[] {
  const seen = new Set<string>();
  return [...history.operations]
    .sort((a, b) => a.start - b.start)
    .filter((op) => {
      if (!op.answer) return false;
      const isMove =
        (op.method === "forkSession" &&
          op.answer.session!.id === sessionId &&
          op.answer.session!.headTurnId !== "") ||
        (op.method === "updateSession" &&
          op.answer.session!.id === sessionId &&
          op.request.headTurnId !== undefined) ||
        ((op.method === "recordTurn" || op.method === "completeTurn") &&
          op.answer.turn!.sessionId === sessionId &&
          op.answer.headTurnId === op.answer.turn!.id);
      if (!isMove) return false;
      const key = `${op.method}/${headAfter(op)}/${"session" in op.answer ? op.answer.session!.headSequence : ""}`;
      return !seen.has(key) && seen.add(key) !== undefined;
    });
}

function headAfter(op: Operation): string | undefined {
  if (!op.answer) return undefined;
  return "headTurnId" in op.answer
    ? op.answer.headTurnId
    : "session" in op.answer
      ? op.answer.session!.headTurnId
      : undefined;
}

function sequenceAfter(op: Operation, sequence: number): boolean {
  return op.answer && "session" in op.answer ? op.answer.session!.headSequence === sequence : true;
}

/** The same thread by list and by stream: no gap, every turn whole, one unbroken chain of hashes. */
async function checkThread(
  ledger: Ledger,
  session: Session,
  turns: ReadonlyMap<string, Turn>,
  fault: (text: string) => void,
): Promise<void> {
  const listed = (await listTurns(ledger, session.id, wire.TurnScope.THREAD)).reverse();
  const streamed = await streamHistory(ledger, session.id);
  const { thread } = streamed;
  for (const text of checkStreamed(streamed)) fault(`session ${session.id}: ${text}`);
  if (
    listed.length !== session.depth ||
    thread.depth !== session.depth ||
    thread.streamedTurns !== session.depth
  ) {
    fault(`session ${session.id}: depth ${session.depth}, listed ${listed.length}, thread ${thread.depth}`);
  }
  const byTurn = groupByTurn(streamed.messages);
  if (`${[...byTurn.keys()]}` !== `${listed.map((turn) => turn.id)}`) {
    fault(
      `session ${session.id} streams the turns ${[...byTurn.keys()]}, and lists ${listed.map((turn) => turn.id)}`,
    );
  }
  let parent: Turn | undefined;
  listed.forEach((turn, index) => {
    if (turn.depth !== index + 1)
      fault(`turn ${turn.id} is ${index + 1}. of its thread and says ${turn.depth}`);
    if (turn.parentTurnId !== (parent?.id ?? "")) fault(`turn ${turn.id} does not follow its parent`);
    const messages = byTurn.get(turn.id) ?? [];
    if (messages.length !== turn.messageCount || messages.some((message, at) => message.index !== at)) {
      fault(`turn ${turn.id} is streamed with ${messages.length} of ${turn.messageCount} messages`);
    }
    if (!turn.contentHash.equals(contentHash(messages)))
      fault(`turn ${turn.id} is streamed with other bytes than stored`);
    if (!turn.chainHash.equals(chainHash(parent?.chainHash, turn.contentHash)))
      fault(`the chain breaks at ${turn.id}`);
    if (!turns.has(turn.id))
      fault(`turn ${turn.id} of ${session.id}'s thread was never acknowledged, or cannot be read`);
    parent = turn;
  });
  if ((parent?.id ?? "") !== session.headTurnId || thread.headTurnId !== session.headTurnId) {
    fault(`session ${session.id} has its head at ${session.headTurnId}, its thread ends at ${parent?.id}`);
  }
  if (parent && !thread.chainHash.equals(parent.chainHash))
    fault(`session ${session.id} streams another chain hash`);
}

async function readTurn(ledger: Ledger, turnId: string): Promise<wire.RecordedTurn | undefined> {
  try {
    return recordedTurn(
      await call<wire.GetTurnRequest, wire.GetTurnResponse>(ledger, ledger.getTurn, { turnId }),
    );
  } catch {
    return undefined;
  }
}

async function listTurns(ledger: Ledger, session: string, scope: wire.TurnScope): Promise<Turn[]> {
  const turns: Turn[] = [];
  let pageToken = "";
  do {
    const request = wire.ListTurnsRequest.create({ session, scope, pageSize: 17, pageToken });
    const page = await call<wire.ListTurnsRequest, wire.ListTurnsResponse>(ledger, ledger.listTurns, request);
    turns.push(...page.turns);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return turns;
}

/** A session's head log, read through WatchSession from its beginning. */
async function headLog(ledger: Ledger, session: Session): Promise<HeadMove[]> {
  const moves: HeadMove[] = [];
  if (session.headSequence === 0) return moves;
  const stream = ledger.watchSession({ session: session.id, afterSequence: 0 });
  stream.on("error", () => undefined);
  for await (const { event } of stream as AsyncIterable<wire.WatchSessionResponse>) {
    if (event?.$case === "headMoved") moves.push(event.value);
    if (moves.length >= session.headSequence) break;
  }
  stream.cancel();
  return moves;
}
