import type { RoleLetter } from "./message-index.js";
import type { TracedTurn } from "./traced-turn.js";

/** Whether history may begin with a turn: with what came in, and with no answer to the turn before. */
export function startsHistory(firstRole: RoleLetter | undefined, answersSomething: boolean): boolean {
  return firstRole === "U" && !answersSomething;
}

/**
 * The messages before which a turn may be split: assistant's ones that follow somebody else's. Nothing is open before them, because
 * the ledger lets nothing but answers stand between a call and its result.
 */
export function splitPlaces(messages: readonly { readonly role: RoleLetter }[]): number[] {
  const found: number[] = [];
  let before: RoleLetter | undefined;
  messages.forEach(({ role }, index) => {
    if (role === "S") return;
    if (role === "A" && before !== undefined && before !== "A") found.push(index);
    before = role;
  });
  return found;
}

/** A call without an answer that is so many turns old will get none. */
export const deadAfterTurns = 8;

/** The turns, oldest first, with which history can begin: where nothing from before is open. One scan. */
export function beginnings(turns: readonly TracedTurn[]): number[] {
  const openSince = new Map<string, number>();
  const spans: { readonly from: number; readonly to: number }[] = [];
  turns.forEach((turn, index) => {
    for (const message of turn.messages) {
      for (const id of message.closes) {
        const from = openSince.get(id);
        if (from !== undefined) spans.push({ from, to: index });
        openSince.delete(id);
      }
      for (const id of message.opens) openSince.set(id, index);
    }
    for (const id of turn.dead) openSince.delete(id);
  });
  for (const from of openSince.values()) {
    if (turns.length - 1 - from < deadAfterTurns) spans.push({ from, to: turns.length - 1 });
  }
  // held[i] counts what is open between turn i - 1 and turn i.
  const held = new Int32Array(turns.length + 2);
  for (const { from, to } of spans) {
    held[from + 1]!++;
    held[to + 1]!--;
  }
  const found: number[] = [];
  let open = 0;
  turns.forEach((turn, index) => {
    open += held[index]!;
    const first = turn.messages.find((message) => message.role !== "S");
    if (open === 0 && first && startsHistory(first.role, first.closes.length > 0)) found.push(index);
  });
  return found;
}
