import fc from "fast-check";
import { type Message, MessageRole, type Part } from "../../src/contract/gen/quire/v1/message.js";
import { type OpenItem, OpenItemKind, TurnStatus } from "../../src/domain/turn.js";
import type { WaitingItem } from "../../src/thread/open-items.js";
import { assistant, system, user } from "../support/messages.js";
import { approvalPart, callPart, decisionPart, resultPart, said, textPart } from "./message-parts.js";

/** A turn that the ledger must take. */
export interface GeneratedTurn {
  readonly parentItems: readonly WaitingItem[];
  readonly messages: readonly Message[];
  readonly status: TurnStatus;
  readonly leavesOpen: readonly OpenItem[];
}

/** How one round of calls goes: for each call, whether a person is asked, and whether they answer before the result. */
interface Round {
  readonly calls: readonly { readonly asks: boolean; readonly answers: boolean }[];
  /** Approvals that are for no call. */
  readonly questions: number;
  readonly saysFirst: boolean;
  /** Decides in which order answers come, and which of them share a message. */
  readonly order: readonly number[];
}

interface Plan {
  readonly systems: number;
  readonly awaited: Round | undefined;
  readonly rounds: readonly (Round | "talk")[];
  readonly lastIsOpen: boolean;
  readonly failed: boolean;
}

const round: fc.Arbitrary<Round> = fc.record({
  calls: fc.array(fc.record({ asks: fc.boolean(), answers: fc.boolean() }), { minLength: 1, maxLength: 4 }),
  questions: fc.nat(2),
  saysFirst: fc.boolean(),
  order: fc.array(fc.nat(1_000), { minLength: 12, maxLength: 12 }),
});

/** Turns of talk and of calls, with approvals; some answer an awaiting parent, some await or fail themselves. */
export function validTurn(options: { readonly completed?: boolean } = {}): fc.Arbitrary<GeneratedTurn> {
  const maybe = options.completed ? fc.constant(false) : fc.boolean();
  const plan: fc.Arbitrary<Plan> = fc.record({
    systems: fc.nat(2),
    awaited: options.completed ? fc.constant(undefined) : fc.option(round, { nil: undefined }),
    rounds: fc.array(fc.oneof(round, round, fc.constant("talk" as const)), { maxLength: 5 }),
    lastIsOpen: maybe,
    failed: maybe,
  });
  return plan.map(build);
}

function build(plan: Plan): GeneratedTurn {
  const awaited = plan.awaited && layOut(plan.awaited, "p");
  const messages: Message[] = Array.from({ length: plan.systems }, (_, index) => system(`rule ${index}`));
  if (awaited) messages.push(...awaited.answers);
  else messages.push(user("hello"));
  let leavesOpen: readonly OpenItem[] = [];
  for (const [index, step] of plan.rounds.entries()) {
    if (step === "talk") {
      messages.push(assistant("well"), user("go on"));
      continue;
    }
    const laid = layOut(step, `r${index}-`);
    messages.push(laid.question);
    if (plan.lastIsOpen && index === plan.rounds.length - 1) leavesOpen = laid.opens;
    else messages.push(...laid.answers);
  }
  if (leavesOpen.length === 0) messages.push(assistant("done"));
  const unfinished = plan.failed ? TurnStatus.FAILED : TurnStatus.AWAITING;
  const status = leavesOpen.length > 0 ? unfinished : plan.failed ? TurnStatus.FAILED : TurnStatus.COMPLETED;
  return { parentItems: awaited?.opens ?? [], messages, status, leavesOpen };
}

function layOut(plan: Round, prefix: string) {
  const opens: WaitingItem[] = [];
  const parts: Part[] = plan.saysFirst ? [textPart("let me see")] : [];
  /** A decision comes before the result of its call, or not at all. */
  const answers: { readonly part: Part; readonly role: MessageRole; readonly weight: number }[] = [];
  const weight = () => plan.order[answers.length % plan.order.length]!;
  plan.calls.forEach(({ asks, answers: decides }, index) => {
    const id = `${prefix}${index}`;
    parts.push(callPart(id));
    opens.push({ kind: OpenItemKind.TOOL_CALL, id });
    const due = weight();
    if (asks) {
      parts.push(approvalPart(id, id));
      opens.push({ kind: OpenItemKind.APPROVAL, id, forCallId: id });
      if (decides) answers.push({ part: decisionPart(id), role: MessageRole.USER, weight: due });
    }
    answers.push({ part: resultPart(id), role: MessageRole.TOOL, weight: due + 0.5 });
  });
  for (let index = 0; index < plan.questions; index++) {
    const id = `${prefix}q${index}`;
    parts.push(approvalPart(id));
    opens.push({ kind: OpenItemKind.APPROVAL, id });
    answers.push({ part: decisionPart(id), role: MessageRole.USER, weight: weight() });
  }
  answers.sort((a, b) => a.weight - b.weight);
  return { question: said(MessageRole.ASSISTANT, ...parts), opens, answers: grouped(answers, plan.order) };
}

/** Neighbours of one role share a message, or not. */
function grouped(
  answers: readonly { readonly part: Part; readonly role: MessageRole }[],
  order: readonly number[],
): Message[] {
  const messages: Message[] = [];
  answers.forEach(({ part, role }, index) => {
    const last = messages.at(-1);
    if (last?.role === role && order[index % order.length]! % 2 === 0) {
      messages[messages.length - 1] = { ...last, parts: [...last.parts, part] };
    } else {
      messages.push(said(role, part));
    }
  });
  return messages;
}
