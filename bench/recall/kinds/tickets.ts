import { MessageRole } from "../../../src/contract/gen/quire/v1/message.js";
import { messageWords } from "../../../src/recall/documents/message-words.js";
import { seeded } from "../../measure.js";
import { readSessions } from "../../needed-sessions.js";
import type { Collection, Saying, Wanted } from "../collection.js";

const minuteMs = 60_000;
const begunMs = Date.UTC(2026, 2, 2, 8);
const mostMentions = 5;
const mostQuestions = 150;

/** Desks: reservations and customers of tau-bench, and a tracker that is made up. */
export function ticketCollections(): Collection[] {
  return [...airline(), tracker()];
}

function airline(): Collection[] {
  const threads = readSessions().sessions.find(({ kind }) => kind === "tau-bench")?.threads ?? [];
  if (threads.length === 0) return [];
  const sessions = threads.map((turns, thread) =>
    turns
      .flatMap((turn) => turn.messages)
      .filter(({ role }) => role !== MessageRole.SYSTEM)
      .flatMap((message, at): Saying[] => {
        const text = messageWords(message);
        const timeMs = begunMs + (thread * 1_440 + at) * minuteMs;
        return text.trim() === "" ? [] : [{ id: `${thread}/${at}`, text, timeMs }];
      }),
  );
  const askedMs = begunMs + (threads.length + 30) * 1_440 * minuteMs;
  const saying = (name: RegExp, ask: (id: string) => string): Wanted[] => {
    const ids = new Map<string, string[]>();
    for (const { id, text } of sessions.flat())
      for (const code of new Set(text.match(name))) ids.set(code, [...(ids.get(code) ?? []), id]);
    const wanted = [...ids]
      .filter(([, evidence]) => evidence.length <= mostMentions)
      .map(([code, evidence]) => ({ query: ask(code), evidence }));
    return wanted.filter((_, at) => at % Math.ceil(wanted.length / mostQuestions) === 0);
  };
  const reservations = saying(
    /\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6}\b/gu,
    (id) => `What is the status of reservation ${id}?`,
  );
  const customers = saying(/\b[a-z]+_[a-z]+_\d{4}\b/gu, (id) => `What did the customer ${id} want?`);
  return [
    { agent: "tickets: tau-bench, reservations", sessions, wanted: reservations, askedMs },
    { agent: "tickets: tau-bench, customers", sessions, wanted: customers, askedMs },
  ];
}

const teams = "OPS NET PAY WEB".split(" ");
const states = "open blocked waiting reopened resolved closed".split(" ");
const things = "pump invoice gateway router printer login report backup certificate shipment".split(" ");
const places = "hall seven|the warehouse|Oslo|the night shift|the front desk|building C".split("|");

/** Tickets whose numbers are near each other, each with a few words now and then; asked by number, and by what they are about. */
function tracker(): Collection {
  const random = seeded(4_711);
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]!;
  const sayings: Saying[] = [];
  const wanted: Wanted[] = [];
  const tickets = Array.from({ length: 150 }, (_, at) => ({
    id: `${teams[at % teams.length]}-${1_000 + Math.floor(at / 2)}`,
    thing: pick(things),
    place: pick(places),
    said: [] as string[],
  }));
  for (let at = 0; at < 450; at++) {
    const ticket = at < tickets.length ? tickets[at]! : pick(tickets);
    const id = String(at);
    const text =
      ticket.said.length === 0
        ? `${ticket.id} opened: the ${ticket.thing} in ${ticket.place} does not work.`
        : `${ticket.id} is ${pick(states)} now, see the notes of ${pick(places)}.`;
    ticket.said.push(id);
    sayings.push({ id, text, timeMs: begunMs + at * 20 * minuteMs });
  }
  for (const { id, said } of tickets)
    if (said.length <= mostMentions)
      wanted.push({ query: `What is the status of ${id.toLowerCase()}?`, evidence: said });
  return {
    agent: "tickets: a tracker",
    sessions: [sayings],
    wanted,
    askedMs: begunMs + 30 * 1_440 * minuteMs,
  };
}
