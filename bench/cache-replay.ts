import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HistoryReplay } from "../src/contract/gen/quire/v1/assembly.js";
import type { AssemblyResolved } from "../src/contract/gen/quire/v1/assembly_service.js";
import type { PrefixPolicy } from "../src/contract/gen/quire/v1/context_settings.js";
import { Message, MessageRole, type Part, ToolCallPart } from "../src/contract/gen/quire/v1/message.js";
import type { CachePlan } from "../src/contract/gen/quire/v1/prompt_cache.js";
import type { Tool } from "../src/contract/gen/quire/v1/workspace.js";
import { createQuire, type Quire } from "../src/index.js";
import { text } from "./assembly-conversation.js";
import { countOf, type Json, promptBlocks } from "./cache-body.js";
import { agentsDocument, type SpokenTurn, sentences, spokenTurn, toolNames } from "./cache-conversation.js";
import type { CacheUsage } from "./cache-provider.js";
import type { SimulatedModel } from "./cache-providers.js";
import { seeded } from "./measure.js";

export interface ReplayOptions {
  readonly model: SimulatedModel;
  readonly turns: number;
  /** The workspace's rules change so often; never when left out. */
  readonly editEveryTurns?: number;
  readonly prefix?: PrefixPolicy;
  readonly replay?: HistoryReplay;
}

/** A request that was sent to the model, and what its cache did. */
export interface SentRequest extends CacheUsage {
  readonly turn: number;
  readonly predictedRead: number;
  /** The first one after a pause in which the provider forgot. */
  readonly isCold: boolean;
  readonly isAfterCompaction: boolean;
}

/** What another engine would have to make the same request from. */
export interface PeerInput {
  readonly system: string;
  readonly tools: readonly Tool[];
  /** All messages of the conversation, each as it was sent. */
  readonly messages: readonly Message[];
  readonly nowMs: number;
  readonly isCold: boolean;
  readonly turn: number;
}

/** The events of an assembly that matter here. */
interface Assembled {
  readonly resolved: AssemblyResolved;
  readonly plan: CachePlan;
  readonly body: Buffer;
  readonly system: string;
  readonly tools: readonly Tool[];
  readonly compactionId: string;
  readonly current: Message | undefined;
}

const session = "conversation";

class SteppedClock {
  nowMs = Date.UTC(2026, 0, 5, 9);

  now(): number {
    return this.nowMs;
  }
}

/** A conversation with Quire as the engine's memory, and a simulated provider that answers what was written beforehand. */
export class CacheReplay {
  readonly sent: SentRequest[] = [];
  private readonly cache;
  private readonly thread: Message[] = [];
  private compactionId = "";
  private edition = 0;

  private constructor(
    private readonly quire: Quire,
    private readonly clock: SteppedClock,
    private readonly options: ReplayOptions,
    private readonly onRequest: ((input: PeerInput) => Promise<void>) | undefined,
  ) {
    this.cache = options.model.cache();
  }

  /** Plays all turns. The other engines are given what they need for the same request, each time. */
  static async play(
    options: ReplayOptions,
    onRequest?: (input: PeerInput) => Promise<void>,
  ): Promise<readonly SentRequest[]> {
    const folder = mkdtempSync(join(tmpdir(), "quire-bench-"));
    const clock = new SteppedClock();
    const quire = await createQuire(
      { database: `file:${join(folder, "quire.db")}`, primeFile: "", logLevel: "error" },
      { clock },
    );
    const replay = new CacheReplay(quire, clock, options, onRequest);
    try {
      await replay.putAgent();
      for (let turn = 1; turn <= options.turns; turn++) await replay.take(turn, spokenTurn(turn));
      return replay.sent;
    } finally {
      await quire.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }

  private async putAgent(): Promise<void> {
    const { capsules, workspaces, ledger } = this.quire;
    const random = seeded(3);
    const inputSchemaJson = JSON.stringify({
      type: "object",
      properties: {
        query: { type: "string", description: sentences(random, 12) },
        limit: { type: "integer", minimum: 1 },
      },
      required: ["query"],
    });
    const names = [...toolNames, "write_file", "open_ticket", "list_deploys", "ask_person"];
    const tools = names.map((name) => ({ name, description: sentences(random, 40), inputSchemaJson }));
    // An intelligence of 5 is what a capsule has that says nothing: 32,768 tokens.
    const persona = { corePrompt: sentences(random, 350), knobs: { intelligenceLevel: 5 } };
    await capsules.putCapsule({ name: "agent", body: { persona } });
    await workspaces.putWorkspace({ name: "w", path: "/w" });
    await workspaces.putToolset({ workspace: "w", toolset: { name: "tools", tools } });
    await this.putDocument();
    await ledger.createSession({ label: session });
  }

  private async putDocument(): Promise<void> {
    const documents = [{ path: "AGENTS.md", content: agentsDocument(this.edition++) }];
    await this.quire.workspaces.putDocuments({ workspace: "w", documents });
  }

  private async take(turn: number, spoken: SpokenTurn): Promise<void> {
    const { ledger } = this.quire;
    const { editEveryTurns, model } = this.options;
    this.clock.nowMs += spoken.pauseMs;
    if (editEveryTurns !== undefined && turn % editEveryTurns === 0) await this.putDocument();
    const question = Message.create({ role: MessageRole.USER, parts: [text(spoken.question)] });
    const first = await this.assemble({
      event: { id: `event-${turn}`, content: question.parts, platform: "chat", timezone: "UTC" },
    });
    this.thread.push(first.current!);
    const usages = [await this.send(turn, first, spoken.pauseMs)];
    const { parentTurnId, assemblyId } = first.resolved;
    const begin = { session, parentTurnId, assemblyId, messages: [question] };
    const result = () => ({
      messages: [said([text(spoken.answer)])],
      usage: usageOf(usages, Math.round(countOf(spoken.answer) * model.ratio)),
    });
    if (spoken.rounds.length === 0) await ledger.recordTurn({ ...begin, result: result() });
    else {
      const begun = await ledger.beginTurn(begin);
      const turnId = begun.turn!.id;
      let answered = assemblyId;
      for (const round of spoken.rounds) {
        const messages = roundMessages(round);
        await ledger.appendMessages({ turnId, messages, assemblyId: answered });
        this.thread.push(...messages);
        const next = await this.assemble({ activeTurnId: turnId });
        answered = next.resolved.assemblyId;
        usages.push(await this.send(turn, next, 0));
      }
      await ledger.completeTurn({ turnId, result: result(), assemblyId: answered });
    }
    this.thread.push(said([text(spoken.answer)]));
  }

  private async assemble(
    about: { readonly event: object } | { readonly activeTurnId: string },
  ): Promise<Assembled> {
    const { model, prefix, replay } = this.options;
    const context = {
      ...{ session, capsule: "agent", workspace: "w", toolset: "tools", model: model.name },
      render: model.bodyFormat,
      ...(replay ? { replay } : {}),
      settings: prefix ? { prefix } : {},
      ...about,
    };
    const assembled: { -readonly [Key in keyof Assembled]?: Assembled[Key] } = { current: undefined };
    for await (const { event } of this.quire.assembly.assemble({ context })) {
      if (event?.$case === "resolved") assembled.resolved = event.value;
      else if (event?.$case === "tools") assembled.tools = event.value.tools;
      else if (event?.$case === "system") assembled.system = event.value.text;
      else if (event?.$case === "history" && event.value.layer)
        assembled.compactionId = event.value.layer.compactionId;
      else if (event?.$case === "currentMessage") assembled.current = event.value.message;
      else if (event?.$case === "rendered")
        assembled.body = Buffer.concat([assembled.body ?? Buffer.alloc(0), event.value.data]);
      else if (event?.$case === "completed") assembled.plan = event.value.cachePlan!;
    }
    return assembled as Assembled;
  }

  /** What the provider makes of a body; and the time that the model takes. */
  private async send(turn: number, assembled: Assembled, pauseMs: number): Promise<CacheUsage> {
    const { model } = this.options;
    const isCold = this.sent.length === 0 || pauseMs > longestKeptMs;
    const body = JSON.parse(assembled.body.toString("utf8")) as Json;
    const usage = this.cache.request(promptBlocks(model.format, body, model.ratio), this.clock.nowMs);
    const { plan, compactionId, system, tools } = assembled;
    this.sent.push({
      ...usage,
      turn,
      predictedRead: plan.readTokens,
      isCold,
      isAfterCompaction: compactionId !== this.compactionId,
    });
    this.compactionId = compactionId;
    await this.onRequest?.({ system, tools, messages: this.thread, nowMs: this.clock.nowMs, isCold, turn });
    this.clock.nowMs += modelMs;
    return usage;
  }
}

const modelMs = 4_000;
const longestKeptMs = 300_000;

function said(parts: Part[]): Message {
  return Message.create({ role: MessageRole.ASSISTANT, parts });
}

/** What the model said and called, and what the tools gave, side by side. */
function roundMessages({ said: words, calls }: SpokenTurn["rounds"][number]): Message[] {
  const called = calls.map(
    ({ callId, name, argumentsJson }): Part => ({
      content: { $case: "toolCall", value: ToolCallPart.create({ callId, name, argumentsJson }) },
    }),
  );
  const results = calls.map(({ callId, result }): Part => {
    const content = [{ content: { $case: "text" as const, value: { text: result } } }];
    return { content: { $case: "toolResult", value: { callId, content, isError: false } } };
  });
  return [said([text(words), ...called]), Message.create({ role: MessageRole.TOOL, parts: results })];
}

/** A turn's usage is the sum over its requests. */
function usageOf(usages: readonly CacheUsage[], outputTokens: number) {
  const sum = (of: (usage: CacheUsage) => number) =>
    Math.round(usages.reduce((total, usage) => total + of(usage), 0));
  return {
    inputTokens: sum(({ input }) => input),
    cachedInputTokens: sum(({ read }) => read),
    cacheWriteTokens: sum(({ written }) => written),
    outputTokens,
  };
}
