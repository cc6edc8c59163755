import { countTokens } from "../src/tokens/count-tokens.js";

/** A text in a role: one object for all that a provider reads as the same. */
export interface PromptText {
  readonly role: string;
  readonly text: string;
  readonly count: number;
}

/** What a provider's cache tells apart: a tool, a system prompt, or a piece of a message. */
export interface PromptBlock {
  readonly said: PromptText;
  /** In the provider's tokens. */
  readonly tokens: number;
  readonly isMarked: boolean;
}

export type PromptFormat = "anthropic" | "openai-responses" | "gemini";

export type Json = { readonly [name: string]: unknown };

interface Piece {
  readonly role: string;
  readonly text: string;
  readonly isMarked?: boolean;
}

/** What a message costs beside its text. */
const messageTokens = 4;
const texts = new Map<string, Map<string, PromptText>>();

/** The text in a role, counted once. */
export function promptText(role: string, text: string): PromptText {
  let ofRole = texts.get(role);
  if (!ofRole) {
    ofRole = new Map();
    texts.set(role, ofRole);
  }
  let said = ofRole.get(text);
  if (!said) {
    said = { role, text, count: countTokens(text, "o200k_base") };
    ofRole.set(text, said);
  }
  return said;
}

export function countOf(text: string): number {
  return promptText("", text).count;
}

/**
 * A body as its provider reads it: tools, system prompt, messages, in this order. A text is the same whether it is a string or
 * the only block of a list, and neighbours of one role are one message.
 */
export function promptBlocks(format: PromptFormat, body: Json, ratio: number): PromptBlock[] {
  let role = "";
  return pieces[format](body).map((piece) => {
    const isFirst = piece.role !== role && piece.role !== "tools" && piece.role !== "system";
    role = piece.role;
    const said = promptText(role, piece.text);
    const tokens = (said.count + (isFirst ? messageTokens : 0)) * ratio;
    return { said, tokens, isMarked: piece.isMarked ?? false };
  });
}

const pieces: Readonly<Record<PromptFormat, (body: Json) => Piece[]>> = {
  anthropic: ({ tools, system, messages }) => [
    ...list(tools).map((tool) => declared(tool, tool.input_schema)),
    ...contentOf(system).map((block) => ({ role: "system", ...anthropicPiece(block) })),
    ...list(messages).flatMap(({ role, content }) =>
      contentOf(content).map((block) => ({ role: String(role), ...anthropicPiece(block) })),
    ),
  ],
  "openai-responses": ({ tools, instructions, input }) => [
    ...list(tools).map((tool) => declared(tool, tool.parameters)),
    ...contentOf(instructions).map(({ text }) => ({ role: "system", text: String(text) })),
    ...list(input).flatMap((item): Piece[] => {
      if (item.type === "function_call")
        return [{ role: "assistant", text: `${item.name}\n${item.arguments}` }];
      if (item.type === "function_call_output") return [{ role: "tool", text: String(item.output) }];
      return contentOf(item.content).map(({ text }) => ({ role: String(item.role), text: String(text) }));
    }),
  ],
  gemini: ({ tools, systemInstruction, contents }) => [
    ...list(tools).flatMap(({ functionDeclarations }) =>
      list(functionDeclarations).map((tool) => declared(tool, tool.parametersJsonSchema)),
    ),
    ...list((systemInstruction as Json | undefined)?.parts).map(({ text }) => ({
      role: "system",
      text: String(text),
    })),
    ...list(contents).flatMap(({ role, parts }) =>
      list(parts).map((part) => ({ role: String(role), text: geminiText(part) })),
    ),
  ],
};

function declared(tool: Json, schema: unknown): Piece {
  return {
    role: "tools",
    text: `${tool.name}\n${tool.description ?? ""}\n${JSON.stringify(schema)}`,
    isMarked: tool.cache_control !== undefined,
  };
}

function anthropicPiece({ cache_control: marker, ...block }: Json): Omit<Piece, "role"> {
  return { text: anthropicText(block), isMarked: marker !== undefined };
}

function anthropicText(block: Json): string {
  switch (block.type) {
    case "text":
      return String(block.text);
    case "tool_use":
      return `${block.name}\n${JSON.stringify(block.input)}`;
    case "tool_result":
      return contentOf(block.content).map(anthropicText).join("\n");
    default:
      throw new Error(`a block of type ${String(block.type)} is not in these conversations`);
  }
}

function geminiText({ text, functionCall, functionResponse }: Json): string {
  const call = functionCall as Json | undefined;
  if (call) return `${call.name}\n${JSON.stringify(call.args)}`;
  const response = (functionResponse as Json | undefined)?.response as Json | undefined;
  return String(response ? response.output : text);
}

function contentOf(content: unknown): Json[] {
  if (content === undefined) return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : list(content);
}

function list(value: unknown): Json[] {
  return (value ?? []) as Json[];
}
