import { expect } from "vitest";
import { ElidedContent, type Elision } from "../../src/contract/gen/quire/v1/assembly.js";
import { FloorKind } from "../../src/contract/gen/quire/v1/compaction.js";
import { type Message, MessageRole, type Part } from "../../src/contract/gen/quire/v1/message.js";
import type { Tool } from "../../src/contract/gen/quire/v1/workspace.js";
import { countTokens } from "../../src/tokens/count-tokens.js";
import { conservativeTokens } from "../../src/tokens/media/conservative-tokens.js";
import { imageMedia, type Media } from "../../src/tokens/media/media.js";
import type { FoldedContext } from "./fold.js";

/** The rules that every context keeps, checked without the code that makes contexts. */

const perMessage = 4;

const counted = new Map<string, number>();

/** Threads grow, and their texts come again with every turn. */
function count(text: string): number {
  const known = counted.get(text) ?? countTokens(text, "o200k_base");
  counted.set(text, known);
  return known;
}

function textsOf({ content }: Part): readonly string[] {
  switch (content?.$case) {
    case "text":
    case "thinking":
      return [content.value.text];
    case "toolCall":
      return [content.value.name, content.value.argumentsJson];
    case "toolResult":
      return content.value.content.flatMap(({ content: piece }) =>
        piece?.$case === "text" ? [piece.value.text] : [],
      );
    case "approvalRequest":
      return [content.value.prompt];
    case "approvalAnswer":
      return [content.value.reason];
    default:
      return [];
  }
}

type Picture = Exclude<Media, { readonly kind: "text" }>;

function picturesOf({ content }: Pick<Part, "content">): readonly Picture[] {
  if (content?.$case === "image") return [imageMedia(content.value) as Picture];
  return content?.$case === "toolResult" ? content.value.content.flatMap((piece) => picturesOf(piece)) : [];
}

function partTokens(parts: readonly Part[]): number {
  const texts = parts.flatMap(textsOf).reduce((sum, text) => sum + count(text), 0);
  return parts.flatMap(picturesOf).reduce((sum, picture) => sum + conservativeTokens(picture), texts);
}

/** What a message costs in o200k tokens, counted anew; a picture at the one figure that is stored for it. */
export function messageTokens(message: Message): number {
  return perMessage + partTokens(message.contextParts) + partTokens(message.parts);
}

function toolTokens(tool: Tool): number {
  return count(`${tool.name}\n${tool.description}\n${tool.inputSchemaJson}`);
}

/** The budget, recounted: nothing is above it, and what the context says of itself is so. */
export function checkBudget(context: FoldedContext): void {
  const budget = context.completed.budget!;
  const factor = budget.exact ? 1 : budget.ratio * (1 + budget.margin);
  const scaled = (tokens: number) => (tokens === 0 ? 0 : Math.ceil(tokens * factor - 1e-9));
  const history = scaled(context.history.reduce((sum, message) => sum + messageTokens(message), 0));
  const system = scaled(count(context.system.text));
  const tools = context.tools.tools.reduce((sum, tool) => sum + scaled(toolTokens(tool)), 0);
  const event = context.current ? scaled(messageTokens(context.current)) : 0;
  expect(system + tools + event + history).toBeLessThanOrEqual(budget.available);
  expect(budget.used).toMatchObject({
    systemPrompt: system,
    tools,
    history,
    event,
    total: system + tools + event + history,
  });
  for (const message of context.history)
    expect(message.o200kTokens, JSON.stringify(message)).toBe(partTokens(message.parts));
}

function isAnswer(message: Message): boolean {
  if (message.role === MessageRole.TOOL) return true;
  return (
    message.role === MessageRole.USER &&
    message.parts.every((part) => part.content?.$case === "approvalAnswer")
  );
}

/** Every result directly after its call, every call with a result, a user's message first. */
export function checkPairs(history: readonly Message[]): void {
  if (history.length > 0) expect(history[0]!.role).toBe(MessageRole.USER);
  const open = new Set<string>();
  for (const message of history) {
    expect(message.role).not.toBe(MessageRole.SYSTEM);
    if (!isAnswer(message)) expect([...open], "calls without a result before the next message").toEqual([]);
    for (const { content } of message.parts) {
      if (content?.$case === "toolCall") open.add(content.value.callId);
      if (content?.$case === "toolResult") {
        expect(open.has(content.value.callId), `a result without its call: ${content.value.callId}`).toBe(
          true,
        );
        open.delete(content.value.callId);
      }
    }
  }
  expect([...open], "calls without a result at the end").toEqual([]);
}

/** A turn of the thread as the test wrote it. */
export interface WrittenTurn {
  readonly id: string;
  /** The indexes of its messages that are not SYSTEM ones. */
  readonly spoken: readonly number[];
}

/** The summary that a history begins with, if it does. */
export function summaryOf({ layer, history }: FoldedContext): Message | undefined {
  return layer.compactionId === "" ? undefined : history[0];
}

/**
 * The summarized, the left out and the kept turns are the thread, in this order, each once. The kept ones are whole but for the beginning of
 * the first one, and the summary stands before them.
 */
export function checkNoHole(context: FoldedContext, thread: readonly WrittenTurn[]): void {
  const { layer } = context;
  const summary = summaryOf(context);
  const history = context.history.slice(summary ? 1 : 0);
  const kept = thread.slice(thread.length - layer.turns);
  expect(layer.summarizedTurns + layer.droppedTurns + layer.turns).toBe(thread.length);
  for (const message of context.history) expect(isSummary(message)).toBe(message === summary);
  if (summary) expect(summary).toMatchObject({ id: layer.compactionId, turnId: layer.compactionId });
  else expect(layer.summarizedTurns).toBe(0);
  expect([...new Set(history.map((message) => message.turnId))]).toEqual(kept.map((turn) => turn.id));
  for (const [at, turn] of kept.entries()) {
    const from = at === 0 ? layer.splitMessageIndex : 0;
    // What was made up has no id of its own.
    const stored = history.filter((message) => message.turnId === turn.id && message.id !== "");
    const shown = stored.map((message) => message.index);
    const isWhole = !context.completed.floors.some(({ kind }) => kind === FloorKind.ELIDED_CALLS);
    const all = turn.spoken.filter((index) => index >= from);
    // A message of results goes with its calls.
    expect(shown).toEqual(isWhole ? all : all.filter((index) => shown.includes(index)));
  }
}

function isSummary({ role, parts }: Message): boolean {
  const [first] = parts.flatMap(textsOf);
  return role === MessageRole.USER && (first ?? "").startsWith("[Previous conversation summary]\n");
}

/** Whatever had to give way is said. */
export function checkFloors(context: FoldedContext, keepTurns: number): void {
  const { layer, completed } = context;
  const floorsOf = (kind: FloorKind) =>
    completed.floors.filter((floor) => floor.kind === kind).map(({ value }) => value);
  const inThread = layer.summarizedTurns + layer.droppedTurns + layer.turns;
  const wanted = Math.min(keepTurns, inThread);
  expect(floorsOf(FloorKind.KEEP_TURNS)).toEqual(layer.turns < wanted ? [layer.turns] : []);
  expect(floorsOf(FloorKind.SPLIT_TURN)).toEqual(
    layer.splitMessageIndex > 0 ? [layer.splitMessageIndex] : [],
  );
  for (const [kind, contents] of elidedKinds) {
    const named = layer.elisions.filter(({ content }) => contents.includes(content)).length;
    if (layer.elisionCount === layer.elisions.length)
      expect(floorsOf(kind)).toEqual(named > 0 ? [named] : []);
  }
  checkElisions(context);
}

const elidedKinds: readonly (readonly [FloorKind, readonly ElidedContent[]])[] = [
  [FloorKind.ELIDED_RESULTS, [ElidedContent.TOOL_RESULT]],
  [FloorKind.ELIDED_ARGUMENTS, [ElidedContent.TOOL_ARGUMENTS]],
  [
    FloorKind.ELIDED_TEXTS,
    [ElidedContent.TEXT, ElidedContent.THINKING, ElidedContent.ATTACHMENT, ElidedContent.CONTEXT],
  ],
];

/** Every mark in history is named, with what it costs; and nothing else is. */
function checkElisions({ layer, history, completed }: FoldedContext): void {
  const { exact, ratio, margin } = completed.budget!;
  const factor = exact ? 1 : ratio * (1 + margin);
  const scaled = (tokens: number) => Math.ceil(tokens * factor - 1e-9);
  const isLeftOut = ({ content }: Elision) => content === ElidedContent.TOOL_CALL;
  expect(layer.elisions.length).toBe(Math.min(layer.elisionCount, 512));
  const sizes = layer.elisions.map(({ tokensBefore }) => tokensBefore);
  expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
  for (const elision of layer.elisions.filter((each) => !isLeftOut(each))) {
    const { turnId, messageIndex, partIndex, content, tokensBefore, tokensAfter } = elision;
    expect(tokensAfter).toBeLessThan(tokensBefore);
    // Where calls were left out, parts stand in other places; what stands for the beginning of a turn has no place.
    const shown = history.find((message) => message.turnId === turnId && message.index === messageIndex);
    if (!shown || messageIndex < layer.splitMessageIndex || layer.elisions.some(isLeftOut)) continue;
    const part = (content === ElidedContent.CONTEXT ? shown.contextParts : shown.parts)[partIndex]!;
    const texts = textsOf(part);
    expect(scaled(texts.reduce((sum, text) => sum + count(text), 0))).toBe(tokensAfter);
    expect(texts.join("\n")).toContain("[left out: ");
    if (content === ElidedContent.TOOL_ARGUMENTS) expect(JSON.parse(texts[1]!)).toBeTypeOf("object");
  }
  if (layer.elisionCount > 512) return;
  const marks = history.flatMap(({ parts, contextParts }) =>
    [...contextParts, ...parts].filter((part) => textsOf(part).some((text) => text.includes("[left out: "))),
  );
  const messages = new Set(
    layer.elisions.filter(isLeftOut).map(({ turnId, messageIndex }) => `${turnId}/${messageIndex}`),
  );
  const alone = layer.elisions.filter((each) => !isLeftOut(each)).length;
  expect(marks.length).toBeGreaterThanOrEqual(alone);
  expect(marks.length).toBeLessThanOrEqual(alone + messages.size);
}
