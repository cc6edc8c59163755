import { validateBodyBytes } from "../../src/rendering/render.js";
import type { Said } from "./conversation.js";

/** What is wrong with a context that an engine made; empty where nothing is. */
export function faultsOf(
  all: readonly Said[],
  kept: readonly Said[],
  budgetTokens: number,
): readonly string[] {
  const talk = kept.filter(({ role }) => role !== "system");
  const calls = new Set(talk.flatMap(({ call }) => call?.id ?? []));
  const answers = new Set(talk.flatMap(({ callId }) => callId ?? []));
  const orphans = [...answers].filter((id) => !calls.has(id)).length;
  const open = [...calls].filter((id) => !answers.has(id)).length;
  const tokens = kept.reduce((sum, one) => sum + one.tokens, 0);
  const holes = talk.filter(({ at }, index) => index > 0 && at !== talk[index - 1]!.at + 1).length;
  const problems = validateBodyBytes({
    format: "anthropic",
    bytes: Buffer.from(JSON.stringify(plainBody(kept))),
  });
  return [
    ...(kept.some(({ role }) => role === "system") ? [] : ["no system message"]),
    ...(talk.at(-1)?.at === all.at(-1)!.at ? [] : ["no question"]),
    ...(orphans > 0 ? [`${orphans} orphan results`] : []),
    ...(open > 0 ? [`${open} unanswered calls`] : []),
    ...(tokens > budgetTokens ? [`${Math.round((100 * tokens) / budgetTokens - 100)} % over budget`] : []),
    ...(holes > 0 ? [holes === 1 ? "1 hole" : `${holes} holes`] : []),
    ...(problems.length > 0 ? ["refused by the provider"] : []),
  ];
}

/** The body that an engine would send that maps message by message. */
function plainBody(kept: readonly Said[]): unknown {
  const messages: { role: string; content: unknown[] }[] = [];
  for (const { role, text, call, callId } of kept) {
    if (role === "system") continue;
    const content = [
      ...(callId === undefined && text !== "" ? [{ type: "text", text }] : []),
      ...(call
        ? [{ type: "tool_use", id: call.id, name: call.name, input: JSON.parse(call.argumentsJson) }]
        : []),
      ...(callId === undefined ? [] : [{ type: "tool_result", tool_use_id: callId, content: text }]),
    ];
    const speaker = role === "assistant" ? "assistant" : "user";
    const last = messages.at(-1);
    if (last?.role === speaker) last.content.push(...content);
    else messages.push({ role: speaker, content });
  }
  const system = kept.find(({ role }) => role === "system")?.text;
  const tools = [{ name: "search_records", input_schema: { type: "object" } }];
  return { model: "claude-opus-5-5", max_tokens: 8_192, ...(system ? { system } : {}), tools, messages };
}
