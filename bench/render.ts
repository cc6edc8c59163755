import { type Message, MessageRole, type Part } from "../src/domain/message.js";
import { type Tool, ToolKind } from "../src/domain/workspace.js";
import { renderBody, validateBody } from "../src/rendering/render.js";
import { type BodyFormat, bodyFormats, type RenderInput } from "../src/rendering/render-input.js";
import { atMost, type Figure } from "./figure.js";
import { elapsedMs, interleaved, prose, seeded } from "./measure.js";

const LIMIT = 1.5;
const ROUNDS = 101;
const TURNS = 40;
/** So many are timed as one, for the clock is coarse. */
const AT_ONCE = 8;

const models: Readonly<Record<BodyFormat, { readonly model: string; readonly provider: string }>> = {
  anthropic: { model: "claude-opus-5-5", provider: "anthropic" },
  "openai-responses": { model: "gpt-6-sol", provider: "openai" },
  "openai-chat": { model: "gpt-6-sol", provider: "openai" },
  gemini: { model: "gemini-3.8-flash", provider: "google" },
};

/** About 100,000 tokens: questions, thinking, two calls a turn with their results, and answers. */
function conversation(provider: string): readonly Message[] {
  const random = seeded(8);
  const messages: Message[] = [];
  const add = (role: MessageRole, ...parts: readonly Part[]) =>
    messages.push(message(role, parts, messages.length));
  for (let turn = 0; turn < TURNS; turn++) {
    add(MessageRole.USER, text(prose(random, 400)));
    for (let step = 0; step < 2; step++) {
      const callId = `call_${turn}_${step}`;
      const argumentsJson = JSON.stringify({
        path: `src/file-${turn}.ts`,
        query: prose(random, 120),
        limit: turn,
      });
      const called = { callId, name: `tool_${(turn + step) % 20}`, argumentsJson, signature: "" };
      add(MessageRole.ASSISTANT, thought(provider, random), {
        content: { $case: "toolCall", value: called },
      });
      const content = [text(`${prose(random, 4_000)}\n{"lines": [1, 2, 3], "next": "\\n"}`)] as never;
      add(MessageRole.TOOL, { content: { $case: "toolResult", value: { callId, content, isError: false } } });
    }
    add(MessageRole.ASSISTANT, text(prose(random, 1_200)));
  }
  add(MessageRole.USER, text(prose(random, 400)));
  return messages;
}

function message(role: MessageRole, parts: readonly Part[], index: number): Message {
  return {
    id: `message-${index}`,
    turnId: "",
    index,
    role,
    parts,
    contextParts: [],
    contextJson: "",
    o200kTokens: 0,
    contextO200kTokens: 0,
    createTime: undefined,
    injected: undefined,
    prompted: false,
  };
}

function text(value: string): Part {
  return { content: { $case: "text", value: { text: value } } };
}

function thought(provider: string, random: () => number): Part {
  const signature = Buffer.from(prose(random, 300)).toString("base64");
  if (provider !== "openai") {
    return { content: { $case: "thinking", value: { text: prose(random, 200), signature, provider } } };
  }
  const item = { type: "reasoning", id: `rs_${random()}`, summary: [], encrypted_content: signature };
  return {
    content: {
      $case: "opaque",
      value: { provider, kind: "reasoning", data: Buffer.from(JSON.stringify(item)) },
    },
  };
}

function tools(): readonly Tool[] {
  const random = seeded(9);
  return Array.from({ length: 20 }, (_, at) => ({
    name: `tool_${at}`,
    description: prose(random, 300),
    inputSchemaJson: JSON.stringify({
      type: "object",
      properties: {
        path: { type: "string", description: prose(random, 80) },
        query: { type: "string", description: prose(random, 80) },
        limit: { type: "integer", minimum: 1 },
        tags: { type: "array", items: { type: "string" } },
      },
      required: ["path"],
    }),
    kind: ToolKind.OTHER,
    capability: "",
    requiredPermissions: [],
    dangerous: false,
  }));
}

function contextFor(format: BodyFormat): RenderInput {
  const { model, provider } = models[format];
  return {
    model,
    system: prose(seeded(10), 8_000),
    tools: tools(),
    messages: conversation(provider),
    maxTokens: 8_192,
    outputTokens: 64_000,
    temperature: undefined,
    thinking: { enabled: true, budgetTokens: 4_096, effort: "medium" },
    breakpoints: [
      { after: "tools", ttlSeconds: 300 },
      { after: "system", ttlSeconds: 300 },
      { after: "message", messageIndex: 120, ttlSeconds: 300 },
      { after: "message", messageIndex: 200, ttlSeconds: 300 },
    ],
    cacheKey: "session-1",
  };
}

/** Schemas are remembered by their tools: copies have none yet. */
function withUnreadTools(input: RenderInput): RenderInput {
  return { ...input, tools: input.tools.map((tool) => ({ ...tool })) };
}

async function ratioOf(format: BodyFormat): Promise<Figure> {
  const input = contextFor(format);
  const body = renderBody(format, input);
  const [problem] = validateBody(format, body);
  if (problem) throw new Error(`${format}: ${problem.path} ${problem.message}`);
  const candidates = {
    rendered: () => {
      const inputs = Array.from({ length: AT_ONCE }, () => withUnreadTools(input));
      return elapsedMs(async () => {
        for (const one of inputs) JSON.stringify(renderBody(format, one));
      });
    },
    written: () =>
      elapsedMs(async () => {
        for (let round = 0; round < AT_ONCE; round++) JSON.stringify(body);
      }),
  };
  await interleaved(20, candidates);
  const { rendered, written } = await interleaved(ROUNDS, candidates);
  const kilobytes = Math.round(JSON.stringify(body).length / 1_000);
  const each = ((rendered / AT_ONCE) * 1_000).toFixed(0);
  return atMost(
    `render: ${format}, ${kilobytes} KB in ${each} µs, against JSON.stringify of the same body`,
    rendered / written,
    LIMIT,
  );
}

export async function run(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const format of bodyFormats) figures.push(await ratioOf(format));
  return figures;
}
