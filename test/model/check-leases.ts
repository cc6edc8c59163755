import { TurnScope } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { type Turn, TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { allTurns, type LedgerCalls } from "../ledger/ledger-calls.js";
import type { LeaseClient, LeasedTurn } from "./lease-clients.js";

/** What the clients were told against what is there, when all of them have finished. Nothing is found when all is well. */
export async function checkLeases(
  ledger: LedgerCalls,
  session: string,
  clients: readonly LeaseClient[],
): Promise<string[]> {
  const faults: string[] = [];
  const fault = (text: string) => faults.push(text);
  const known = new Map(clients.flatMap(({ turns }) => turns.map((turn) => [turn.id, turn] as const)));
  const thread = (await allTurns(ledger, { session, pageSize: 500 })).reverse();
  const written = await allTurns(ledger, { session, pageSize: 500, scope: TurnScope.WRITTEN });
  const { messages } = await ledger.history({ thread: { $case: "session", value: session } });

  const texts = messages.flatMap(({ parts }) =>
    parts.flatMap(({ content }) => (content?.$case === "text" ? content.value.text : [])),
  );
  for (const text of clients.flatMap(({ said }) => said)) {
    const times = texts.filter((each) => each === text).length;
    if (times !== 1) fault(`"${text}" is ${times} times in the thread`);
  }
  let before = "";
  for (const turn of thread) {
    if (turn.parentTurnId !== before) fault(`turn ${turn.id} does not follow the one before it`);
    before = turn.id;
    const own = known.get(turn.id);
    if (!own) {
      fault(`turn ${turn.id} is nobody's`);
      continue;
    }
    if (own.parentTurnId !== turn.parentTurnId)
      fault(`the head moved under turn ${turn.id}, which had the session`);
    const ids = messages.filter(({ turnId }) => turnId === turn.id).map(({ id }) => id);
    if (`${ids}` !== `${own.messageIds}`) fault(`turn ${turn.id} has not what was acknowledged`);
  }
  const onThread = new Set(thread.map(({ id }) => id));
  for (const turn of written) checkEnd(turn, known.get(turn.id), onThread.has(turn.id), fault);
  if (written.length !== known.size) fault(`${written.length} turns are written, ${known.size} were begun`);
  checkFences(written, known, fault);
  return faults;
}

function checkEnd(
  turn: Turn,
  own: LeasedTurn | undefined,
  isOnThread: boolean,
  fault: (text: string) => void,
): void {
  const { id, status, interruptedByTurnId, messageCount } = turn;
  const isFinished = status === TurnStatus.COMPLETED || status === TurnStatus.AWAITING;
  if (isFinished !== isOnThread)
    fault(`turn ${id} is ${status} and ${isOnThread ? "" : "not "}in the thread`);
  if (own?.ended === "completed" && (status !== TurnStatus.COMPLETED || interruptedByTurnId !== ""))
    fault(`turn ${id} was completed by its client, and is ${status}`);
  if (own?.ended === "failed" && status !== TurnStatus.FAILED)
    fault(`turn ${id} was failed, and is ${status}`);
  if (own?.ended === "interrupted" && interruptedByTurnId === "") fault(`nobody interrupted turn ${id}`);
  if (interruptedByTurnId !== "" && messageCount === 0 && status !== TurnStatus.FAILED)
    fault(`turn ${id} was interrupted without messages, and is ${status}`);
}

/** Nobody writes to a turn after another has taken its lease, and nobody takes the lease of a turn that goes on. */
function checkFences(
  written: readonly Turn[],
  known: ReadonlyMap<string, LeasedTurn>,
  fault: (text: string) => void,
): void {
  const all = [...known.values()];
  for (const { id, interruptedByTurnId } of written) {
    const turn = known.get(id);
    const taker = known.get(interruptedByTurnId);
    const last = turn?.writes.at(-1);
    if (!turn || !last) continue;
    if (taker && last.start > taker.begun.end)
      fault(`turn ${id} was written to after ${taker.id} had its lease`);
    if (interruptedByTurnId !== "") continue;
    const within = all.find(
      (other) => other !== turn && other.begun.start > turn.begun.end && other.begun.end < last.start,
    );
    if (within) fault(`turn ${within.id} took the session while ${id} had it`);
  }
}
