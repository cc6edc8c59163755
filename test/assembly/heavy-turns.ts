import { expect } from "vitest";
import { Message, MessageRole, type Part } from "../../src/contract/gen/quire/v1/message.js";
import { encodeBody, renderBody, validateBodyBytes } from "../../src/rendering/render.js";
import { call, context as rendering, result, text, thinking } from "../rendering/contexts.js";
import type { FoldedContext } from "./fold.js";
import { formats } from "./rendered-context.js";

/** Most are small, a few are larger than any window: Pareto, as sizes in real sessions are. */
export function heavySize(share: number): number {
  return Math.min(20_000, Math.floor(15 / (1 - share) ** (1 / 0.8)));
}

/** A turn by its sizes, in words. */
export interface HeavyTurn {
  readonly asked: number;
  readonly steps: readonly HeavyStep[];
  readonly answer: number | null;
}

export interface HeavyStep {
  readonly thought: number | null;
  readonly said: number | null;
  readonly calls: readonly { readonly argument: number; readonly result: number }[];
}

const words = (count: number, name: string) => `${name}: ${"a train over the hills ".repeat(count / 5)}`;
const message = (role: MessageRole, parts: readonly Part[]) => Message.create({ role, parts: [...parts] });

export function messagesOf({ asked, steps, answer }: HeavyTurn): Message[] {
  const messages = [message(MessageRole.USER, [text(words(asked, "asked"))])];
  for (const [at, { thought, said, calls: made }] of steps.entries()) {
    const ids = made.map((_, index) => `call-${at}-${index}`);
    messages.push(
      message(MessageRole.ASSISTANT, [
        ...(thought === null ? [] : [thinking("anthropic", words(thought, "thought"))]),
        ...(said === null ? [] : [text(words(said, "said"))]),
        ...made.map(({ argument }, index) =>
          call(ids[index]!, "write", { path: `src/${index}.ts`, content: words(argument, "wrote") }),
        ),
      ]),
      message(
        MessageRole.TOOL,
        made.map((each, index) => result(ids[index]!, words(each.result, "got"))),
      ),
    );
  }
  if (answer !== null || steps.length === 0)
    messages.push(message(MessageRole.ASSISTANT, [text(words(answer ?? 5, "answer"))]));
  return messages;
}

/** A context makes a valid body for every provider. */
export function checkBodies({ system, tools, history, current }: FoldedContext): void {
  const messages = current ? [...history, current] : history;
  for (const { name: format, model } of formats) {
    const body = renderBody(format, rendering({ model, system: system.text, tools: tools.tools, messages }));
    expect(validateBodyBytes({ format, bytes: encodeBody(body) }), format).toEqual([]);
  }
}
