import { type BodyProblems, wordOf } from "../body-problems.js";
import { hasText } from "../messages.js";
import { isObject, type JsonObject } from "../schema-dialect.js";
import { checkBlock, isServerCall, isServerResult, isThinking } from "./blocks.js";
import type { ClaudeRules } from "./models.js";

/** Neighbouring messages of one role, which the API takes for one. */
interface Turn {
  readonly role: "user" | "assistant";
  readonly blocks: { readonly block: JsonObject; readonly path: string }[];
}

/** The rules about messages: each on its own, and how they follow one another. */
export function checkTurns(problems: BodyProblems, body: JsonObject, rules: ClaudeRules): void {
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0) {
    problems.add("messages_empty", "messages", "at least one message is needed");
    return;
  }
  problems.check(messages.length <= 100_000, "messages_too_many", "messages", "at most 100,000 messages");
  const turns: Turn[] = [];
  messages.forEach((message: unknown, at) => {
    layMessage(problems, turns, message, `messages[${at}]`, at === messages.length - 1, rules);
  });
  const [first] = turns;
  const startsWithUser = first === undefined || first.role === "user";
  problems.check(
    startsWithUser,
    "first_message_not_user",
    "messages[0]",
    "the first message must be the user's",
  );
  checkEnd(problems, turns, body, rules);
  checkCalls(problems, turns);
  checkThinkingFirst(problems, turns, body);
}

function layMessage(
  problems: BodyProblems,
  turns: Turn[],
  message: unknown,
  path: string,
  isLast: boolean,
  rules: ClaudeRules,
): void {
  const role = isObject(message) ? message.role : undefined;
  const isKnown = role === "user" || role === "assistant" || (role === "system" && rules.takesSystemMessages);
  if (!isObject(message) || !isKnown) {
    problems.add("role_unknown", `${path}.role`, "a message's role is user or assistant");
    return;
  }
  const { content } = message;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (!Array.isArray(blocks) || (blocks.length === 0 && !(isLast && role === "assistant"))) {
    problems.add("content_empty", `${path}.content`, "messages must have content that is not empty");
    return;
  }
  blocks.forEach((block, at) => {
    const blockPath = typeof content === "string" ? `${path}.content` : `${path}.content[${at}]`;
    checkBlock(problems, block, blockPath, role);
  });
  if (role === "system") return;
  const previous = turns.at(-1);
  const turn: Turn = previous?.role === role ? previous : { role, blocks: [] };
  if (turn !== previous) turns.push(turn);
  blocks.forEach((block: unknown, at) => {
    if (isObject(block)) turn.blocks.push({ block, path: `${path}.content[${at}]` });
  });
}

function checkEnd(
  problems: BodyProblems,
  turns: readonly Turn[],
  body: JsonObject,
  rules: ClaudeRules,
): void {
  for (const { role, blocks } of turns) {
    const last = blocks.at(-1);
    if (role !== "assistant" || last === undefined || !isThinking(last.block.type)) continue;
    problems.add(
      "ends_with_thinking",
      last.path,
      "the final block in an assistant message cannot be thinking",
    );
  }
  const last = turns.at(-1);
  // A message that the provider paused in is taken up again.
  if (last?.role !== "assistant" || isServerCall(last.blocks.at(-1)?.block.type)) return;
  const path = last.blocks.at(-1)?.path ?? "messages";
  const isManual = isObject(body.thinking) && body.thinking.type === "enabled";
  if (!rules.takesPrefill || isManual) {
    problems.add("ends_with_assistant", path, "the conversation must end with a user message");
    return;
  }
  const text = last.blocks.at(-1)?.block.text;
  const isClean = typeof text !== "string" || !hasText(text) || text === text.trimEnd();
  problems.check(isClean, "trailing_whitespace", path, "final assistant content cannot end with white space");
}

function checkCalls(problems: BodyProblems, turns: readonly Turn[]): void {
  const seen = new Set<unknown>();
  turns.forEach((turn, at) => {
    if (turn.role !== "assistant") {
      if (at === 0) checkResults(problems, turn, new Set());
      return;
    }
    const open = new Map<unknown, string>();
    const served = new Map<unknown, string>();
    for (const { block, path } of turn.blocks) {
      const { type, id } = block;
      if (isServerResult(type) && !served.delete(block.tool_use_id)) {
        problems.add("server_result_unexpected", path, `each ${type} needs its call before it`);
      }
      if (isServerCall(type)) served.set(id, path);
      if (type !== "tool_use") continue;
      problems.check(!seen.has(id), "tool_use_id_duplicate", `${path}.id`, "tool_use ids must be unique");
      seen.add(id);
      open.set(id, path);
    }
    const next = turns[at + 1];
    const answered = next ? checkResults(problems, next, new Set(open.keys())) : new Set();
    for (const [id, path] of open) {
      const message = `tool_use ${wordOf(id)} has no tool_result in the next message`;
      problems.check(answered.has(id), "tool_result_missing", path, message);
    }
    if (!next) return;
    for (const [id, path] of served) {
      problems.add(
        "server_result_missing",
        path,
        `the provider's call ${wordOf(id)} has no result in its message`,
      );
    }
  });
}

/** The ids that a user's turn answers. */
function checkResults(
  problems: BodyProblems,
  turn: Turn,
  expected: ReadonlySet<unknown>,
): ReadonlySet<unknown> {
  const answered = new Set<unknown>();
  let isAfterOther = false;
  for (const { block, path } of turn.blocks) {
    if (block.type !== "tool_result") {
      isAfterOther = true;
      continue;
    }
    const id = block.tool_use_id;
    const first = "tool_result blocks must come first in their message";
    problems.check(!isAfterOther, "tool_results_not_first", path, first);
    const unexpected = `no tool_use ${wordOf(id)} is in the message before`;
    problems.check(expected.has(id), "tool_result_unexpected", path, unexpected);
    problems.check(
      !answered.has(id),
      "tool_result_duplicate",
      path,
      `tool_use ${wordOf(id)} has more than one result`,
    );
    answered.add(id);
  }
  return answered;
}

/** With a thinking budget, a turn that goes on after its tools' results must have begun with thinking. */
function checkThinkingFirst(problems: BodyProblems, turns: readonly Turn[], body: JsonObject): void {
  if (!isObject(body.thinking) || body.thinking.type !== "enabled") return;
  const asked = turns.at(-2);
  const isLoop = turns.at(-1)?.blocks.some(({ block }) => block.type === "tool_result");
  const first = asked?.blocks[0];
  if (!isLoop || asked?.role !== "assistant" || first === undefined) return;
  const message = "when thinking is enabled, a final assistant message must start with a thinking block";
  problems.check(isThinking(first.block.type), "thinking_not_first", first.path, message);
}
