import { anthropicApi } from "../../examples/provider/anthropic.js";
import { geminiApi } from "../../examples/provider/gemini.js";
import { openaiChatApi } from "../../examples/provider/openai-chat.js";
import { openaiResponsesApi } from "../../examples/provider/openai-responses.js";
import { type FakeProvider, startProvider } from "../../examples/provider/provider.js";
import type { DeepPartial } from "../../src/contract/gen/quire/v1/message.js";
import { BodyFormat } from "../../src/contract/gen/quire/v1/rendering.js";
import type { Tool } from "../../src/contract/gen/quire/v1/workspace.js";
import type { Quire } from "../../src/index.js";
import { text } from "../in-process/quire-fixture.js";

/** A provider, the body that it takes, and a model of its own. */
export interface Served {
  readonly fake: FakeProvider;
  readonly format: BodyFormat;
  readonly model: string;
}

export async function startProviders(): Promise<readonly Served[]> {
  const { ANTHROPIC_MESSAGES, OPENAI_RESPONSES, GEMINI, OPENAI_CHAT } = BodyFormat;
  return [
    {
      fake: await startProvider(anthropicApi()),
      format: ANTHROPIC_MESSAGES,
      model: "claude-sonnet-5-5",
    },
    { fake: await startProvider(openaiResponsesApi()), format: OPENAI_RESPONSES, model: "gpt-6-sol" },
    { fake: await startProvider(geminiApi()), format: GEMINI, model: "gemini-4-argon" },
    { fake: await startProvider(openaiChatApi()), format: OPENAI_CHAT, model: "gpt-6-sol" },
  ];
}

export const tools: DeepPartial<Tool>[] = ["search", "fs/read.file"].map((name) => ({
  name,
  description: `The tool ${name}.`,
  inputSchemaJson: '{"type":"object","properties":{"query":{"type":"string"}}}',
}));

/** The whole of an engine: it posts what Quire renders, hands back what comes, and runs the tools that it is told to run. */
export class Engine {
  private head: string;
  /** What the provider counted for the first call of the last turn. */
  firstTokens = 0;
  /** The names of the tools that were run. */
  readonly ran: string[] = [];

  constructor(
    private readonly quire: Quire,
    private readonly session: string,
    private readonly settings: { readonly maxContextTokens?: number } = {},
    /** Where the session goes on, if it has turns. */
    head = "",
  ) {
    this.head = head;
  }

  /** One turn: the user's words, and calls until there are none. Gives the number of model calls. */
  async turn(served: Served, words: string, runTool: (name: string) => string): Promise<number> {
    const { ledger } = this.quire;
    const content = [text(words)];
    let context = await this.post(served, { event: { content } });
    this.firstTokens = served.fake.lastTokens;
    const messages = [{ role: "MESSAGE_ROLE_USER" as const, parts: content }];
    const { session, head: parentTurnId } = this;
    const begun = await ledger.beginTurn({ session, parentTurnId, messages, assemblyId: context.assemblyId });
    const turnId = begun.turn!.id;
    for (let calls = 1; ; calls++) {
      const { assemblyId, body } = context;
      const response = { format: served.format, body };
      const { answer } = await ledger.appendMessages({ turnId, assemblyId, response });
      if (answer!.toolCalls.length === 0) {
        this.head = (await ledger.completeTurn({ turnId })).headTurnId;
        return calls;
      }
      const toolResults = answer!.toolCalls.map(({ callId, name }) => {
        this.ran.push(name);
        return { callId, text: runTool(name) };
      });
      await ledger.appendMessages({ turnId, toolResults });
      context = await this.post(served, { activeTurnId: turnId });
    }
  }

  /** What is asked for in a turn. */
  request({ format, model }: Served, words: string) {
    const { session, settings } = this;
    const event = { content: [text(words)] };
    return { session, capsule: "agent", model, render: format, tools, ...settings, event, dryRun: true };
  }

  private async post(
    { fake, format, model }: Served,
    more: object,
  ): Promise<{ readonly assemblyId: string; readonly body: Buffer }> {
    for (let tries = 1; ; tries++) {
      const { session } = this;
      const request = { session, capsule: "agent", model, render: format, tools, ...this.settings, ...more };
      const { context, rendered } = await this.quire.assembly.buildContext({ context: request });
      const answer = await fetch(fake.url, { method: "POST", body: new Uint8Array(rendered!.body) });
      const { assemblyId } = context!;
      const said = await answer.text();
      if (answer.ok) return { assemblyId, body: Buffer.from(said) };
      if (tries > 3 || !/too long|exceed|maximum/.test(said))
        throw new Error(`${fake.name} refused: ${said}`);
      await this.recover(assemblyId, said);
    }
  }

  /** What an engine does when its model says that the context is too long. */
  private async recover(assemblyId: string, said: string): Promise<void> {
    await this.quire.assembly.reportOverflow({ assemblyId, errorBody: said });
  }
}
