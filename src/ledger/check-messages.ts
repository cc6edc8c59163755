import { type Message, MessageRole, type Part, type PartContent } from "../domain/message.js";
import { OpenItemKind, TurnStatus } from "../domain/turn.js";
import { QuireError } from "../errors/quire-error.js";
import { answersOnly, itemOf } from "../thread/open-items.js";
import type { OpenState } from "../thread/open-state.js";

/** A message with its path in the request, for errors. */
export interface LocatedMessage {
  readonly message: Message;
  readonly field: string;
  /** Where the id of a part is that opens or answers something, if not where the message says. */
  readonly pathOf?: (partIndex: number) => string;
}

type PartCase = PartContent["$case"];

const allowedParts: Readonly<Record<string, ReadonlySet<PartCase>>> = {
  [MessageRole.SYSTEM]: new Set<PartCase>(["text"]),
  [MessageRole.USER]: new Set<PartCase>(["text", "approvalAnswer", "image", "file", "opaque"]),
  [MessageRole.ASSISTANT]: new Set<PartCase>([
    "text",
    "thinking",
    "toolCall",
    "approvalRequest",
    "image",
    "file",
    "opaque",
    "refusal",
  ]),
  [MessageRole.TOOL]: new Set<PartCase>(["toolResult"]),
};
const allowedContextParts: ReadonlySet<PartCase> = new Set<PartCase>(["text", "image", "file"]);

const fieldNames: Readonly<Record<PartCase, string>> = {
  text: "text",
  thinking: "thinking",
  toolCall: "tool_call",
  toolResult: "tool_result",
  approvalRequest: "approval_request",
  approvalAnswer: "approval_answer",
  image: "image",
  file: "file",
  opaque: "opaque",
  refusal: "refusal",
};

/** Which parts may be in which message: needs nothing but the messages. */
export function checkParts(messages: readonly LocatedMessage[]): void {
  for (const { message, field } of messages) {
    requireParts(message.parts, allowedParts[message.role]!, `${field}.parts`, message.role);
    requireParts(message.contextParts, allowedContextParts, `${field}.context_parts`, "context");
  }
}

function requireParts(
  parts: readonly Part[],
  allowed: ReadonlySet<PartCase>,
  field: string,
  owner: string,
): void {
  parts.forEach((part, index) => {
    const kind = part.content!.$case;
    if (allowed.has(kind)) return;
    const path = `${field}[${index}].${fieldNames[kind]}`;
    throw QuireError.field(
      "PART_NOT_ALLOWED",
      path,
      `cannot be in a ${owner.replace("MESSAGE_ROLE_", "")} message`,
    );
  });
}

/** Lays messages on a turn's state: roles in order, every result and answer to something open, every call new. */
export function extendState(state: OpenState, messages: readonly LocatedMessage[]): void {
  for (const located of messages) {
    checkRole(state, located);
    state.answered = located.message.role === MessageRole.ASSISTANT;
    located.message.parts.forEach((part, index) => {
      layPart(state, part.content!, `${located.field}.parts[${index}]`, located.pathOf?.(index));
    });
  }
}

function checkRole(state: OpenState, { message, field }: LocatedMessage): void {
  const role = `${field}.role`;
  if (message.role === MessageRole.SYSTEM) {
    if (state.started) {
      throw QuireError.field(
        "BAD_ROLE_ORDER",
        role,
        "is SYSTEM after other messages: it stands only at the start of a turn",
      );
    }
    return;
  }
  if (!state.started && message.role === MessageRole.ASSISTANT && !state.continues) {
    throw QuireError.field(
      "BAD_ROLE_ORDER",
      role,
      "is ASSISTANT at the start of a turn: that is for what came in, or for answers that the parent awaits",
    );
  }
  if (!answersOnly(message)) requireNothingOpen(state, field, role);
  state.started = true;
}

function requireNothingOpen(state: OpenState, field: string, role: string): void {
  if (state.hasInherited) {
    if (!state.mayAbandon) {
      throw unanswered(
        state,
        field,
        "comes before the answers that the parent awaits; abandon_open_items gives them up",
      );
    }
    state.abandonInherited();
  }
  if (state.open.length > 0) {
    throw QuireError.field("BAD_ROLE_ORDER", role, "stands between a call and its answer", {
      open_items: idList(state),
    });
  }
}

function layPart(state: OpenState, content: PartContent, field: string, idPath?: string): void {
  const effect = itemOf(content);
  if (!effect) return;
  const { does, kind, id, forCallId } = effect;
  const part = `${field}.${fieldNames[content.$case]}`;
  const path = idPath ?? `${part}.${kind === OpenItemKind.TOOL_CALL ? "call_id" : "approval_id"}`;
  if (does === "answers") answer(state, kind, id, path);
  else {
    if (forCallId && !state.wasSeen(OpenItemKind.TOOL_CALL, forCallId))
      throw QuireError.field("INVALID_FIELD", `${part}.call_id`, "is no call of this turn, nor an open one");
    open(state, kind, id, path, forCallId);
  }
}

/** An item's id, under the name that the contract has for it. */
function named(kind: OpenItemKind, id: string): Readonly<Record<string, string>> {
  return kind === OpenItemKind.TOOL_CALL ? { call_id: id } : { approval_id: id };
}

function open(state: OpenState, kind: OpenItemKind, id: string, field: string, forCallId?: string): void {
  if (state.wasSeen(kind, id)) {
    throw QuireError.field(
      "DUPLICATE_CALL",
      field,
      `${id} is used before in this turn, or open`,
      named(kind, id),
    );
  }
  state.openItem(kind, id, forCallId);
}

function answer(state: OpenState, kind: OpenItemKind, id: string, field: string): void {
  if (state.isOpen(kind, id)) {
    state.close(kind, id);
    return;
  }
  if (state.wasSeen(kind, id)) {
    throw QuireError.field("DUPLICATE_ANSWER", field, `${id} is answered before`, named(kind, id));
  }
  const [reason, what] =
    kind === OpenItemKind.TOOL_CALL
      ? (["ORPHAN_TOOL_RESULT", "call"] as const)
      : (["ORPHAN_APPROVAL_ANSWER", "approval"] as const);
  throw QuireError.field(reason, field, `no ${what} ${id} is open`, named(kind, id));
}

/** Whether a turn may end so. A failed one may end anyhow; a completed one gives up what it may. */
export function checkEnd(state: OpenState, status: TurnStatus, field: string): void {
  if (status === TurnStatus.FAILED) return;
  if (!state.started)
    throw QuireError.field("BAD_ROLE_ORDER", field, "a finished turn needs a message that is not SYSTEM");
  if (status !== TurnStatus.COMPLETED) return;
  if (state.mayAbandon) state.abandonInherited();
  if (state.open.length > 0) {
    throw unanswered(
      state,
      field,
      "a completed turn leaves nothing unanswered; an AWAITING or FAILED one may",
    );
  }
}

function unanswered(state: OpenState, field: string, description: string): QuireError {
  return QuireError.field("UNANSWERED_CALLS", field, description, { open_items: idList(state) });
}

function idList(state: OpenState): string {
  return state.open.map((item) => item.id).join(",");
}
