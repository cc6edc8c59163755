import type { Quire } from "./connect.js";
import { Contexts } from "./contexts.js";
import type { ContextRequest } from "./gen/quire/v1/assembly_service.js";
import { OnBusy } from "./gen/quire/v1/ledger_service.js";
import { type DeepPartial, MessageRole, type Part, type ToolCallPart } from "./gen/quire/v1/message.js";
import type { ReadAnswer, ToolOutput } from "./gen/quire/v1/response.js";
import { TaskStatus } from "./gen/quire/v1/session.js";
import type { Turn } from "./gen/quire/v1/turn.js";
import { LeasedTurn } from "./leased-turn.js";
import { type Model, ProviderError } from "./model.js";
import { QuireError } from "./quire-error.js";
import { definitionOf, runTool, type Tool } from "./tool.js";

export interface AgentOptions {
  /** The session's name; it is made if there is none. */
  readonly session: string;
  /** The name of the agent's definition; the session's own where it is left out. */
  readonly capsule?: string;
  readonly model: Model;
  readonly tools?: readonly Tool[];
  /** What else contexts are to be made with, such as a workspace or permissions. */
  readonly context?: DeepPartial<ContextRequest>;
  /** What to do when another turn has the session: wait, unless it is told otherwise. */
  readonly onBusy?: OnBusy;
  /** Who takes the session, for those who find it busy. */
  readonly holder?: string;
  /** How long to wait for the session: five minutes. */
  readonly waitMs?: number;
  /** How many times a turn may call its model: 100. */
  readonly maxSteps?: number;
}

export interface TurnOptions {
  /** Takes pieces of the model's words as they come. If its stream breaks, they begin again. */
  readonly onText?: (piece: string) => void;
  /** Is told of each call before it is carried out. */
  readonly onCall?: (call: ToolCallPart) => void;
  readonly signal?: AbortSignal;
}

/** How a turn went. */
export interface TurnOutcome {
  /** The model's last words. */
  readonly text: string;
  readonly turn: Turn;
  readonly answer: ReadAnswer;
  /** How many times the model was called. */
  readonly steps: number;
}

/** How often a context may be too long for its model call, after each report. */
const mostOverflows = 3;

/**
 * The loop of an agent's turns: take the session, make the context, call the model, record its answer, carry its calls out, and again until
 * there are none. All of it is in the ledger step by step; memory tools are carried out by the server.
 */
export class Agent {
  private readonly contexts: Contexts;
  private ready: Promise<ReadonlySet<string>> | undefined;

  constructor(
    private readonly quire: Pick<Quire, "ledger" | "assembly" | "memory">,
    private readonly options: AgentOptions,
  ) {
    this.contexts = new Contexts(quire);
  }

  get tools(): readonly Tool[] {
    return this.options.tools ?? [];
  }

  /**
   * One turn. If it fails, nothing of it comes into the thread, and it can be tried again. If another turn takes the session, the error's
   * reason is INTERRUPTED, and what was recorded stays.
   */
  async turn(input: string | readonly DeepPartial<Part>[], options: TurnOptions = {}): Promise<TurnOutcome> {
    const { session, onBusy = OnBusy.WAIT, holder = "", waitMs = 300_000 } = this.options;
    const memoryTools = await this.prepare();
    const lease = { onBusy, holder };
    const turn = await LeasedTurn.begin(this.quire, { session, lease }, { timeoutMs: waitMs });
    const signal = options.signal ? AbortSignal.any([options.signal, turn.signal]) : turn.signal;
    try {
      return await this.loop(turn, partsOf(input), { ...options, signal }, memoryTools);
    } catch (thrown) {
      const error = turn.signal.aborted ? turn.signal.reason : thrown;
      if (QuireError.from(error).reason !== "INTERRUPTED") await turn.fail(error);
      throw error;
    } finally {
      turn.release();
    }
  }

  /** Spawns a worker: a sub-agent with a session of its own, its parent's capsule and model, and these tools. */
  async spawn(given: {
    readonly task: string;
    readonly tools?: readonly Tool[];
    readonly model?: Model;
    readonly turnId?: string;
    readonly callId?: string;
  }): Promise<Worker> {
    const { task, tools = [], turnId: parentTurnId = "", callId: spawningCallId = "" } = given;
    const { session: parent, model, capsule } = this.options;
    const { session } = await this.quire.ledger.createSession({
      subAgent: {
        parentSessionId: parent,
        parentTurnId,
        spawningCallId,
        task,
        taskStatus: TaskStatus.RUNNING,
      },
      ...(capsule === undefined ? {} : { defaults: { capsule } }),
    });
    const options = { session: session!.id, model: given.model ?? model, tools };
    return new Worker(this.quire, options, task);
  }

  private prepare(): Promise<ReadonlySet<string>> {
    this.ready ??= this.open().catch((error) => {
      this.ready = undefined;
      throw error;
    });
    return this.ready;
  }

  /** Makes the session if there is none, and asks which tools are the server's. */
  private async open(): Promise<ReadonlySet<string>> {
    const { session: label, capsule } = this.options;
    const found = await this.quire.ledger.getSession({ session: label }).catch((thrown) => {
      if (QuireError.from(thrown).reason !== "SESSION_NOT_FOUND") throw thrown;
    });
    const defaults = capsule === undefined ? {} : { defaults: { capsule } };
    if (!found) await this.quire.ledger.createSession({ label, getIfExists: true, ...defaults });
    const { tools } = await this.quire.memory.listMemoryTools({});
    return new Set(tools.map(({ name }) => name));
  }

  private async loop(
    turn: LeasedTurn,
    input: readonly DeepPartial<Part>[],
    options: TurnOptions & { readonly signal: AbortSignal },
    memoryTools: ReadonlySet<string>,
  ): Promise<TurnOutcome> {
    const { maxSteps = 100 } = this.options;
    const messages = [{ role: MessageRole.USER, parts: [...input] }];
    for (let steps = 1; ; steps++) {
      const event = steps === 1 ? { event: { content: [...input] } } : {};
      const { capsule, assemblyId, response } = await this.ask(turn, event, options);
      const recorded = await turn.append({ assemblyId, response, ...(steps === 1 ? { messages } : {}) });
      const answer = recorded.answer!;
      if (answer.toolCalls.length === 0 || steps === maxSteps) {
        const toolResults = answer.toolCalls.map(({ callId }) => givenUp(callId));
        const completed = await turn.complete({ toolResults });
        return { text: answer.text, turn: completed.turn!, answer, steps };
      }
      const run = (call: ToolCallPart) => {
        options.onCall?.(call);
        const own = this.tools.find(({ name }) => name === call.name);
        if (!own && memoryTools.has(call.name)) return this.remember(capsule, call);
        return runTool(own, { call, turnId: turn.id, agent: this, signal: options.signal });
      };
      const toolResults = await Promise.all(answer.toolCalls.map(run));
      options.signal.throwIfAborted();
      await turn.append({ toolResults });
    }
  }

  /** A context, and what the model says to it. A context that is too long for the model is reported, and made again. */
  private async ask(
    turn: LeasedTurn,
    event: DeepPartial<ContextRequest>,
    { signal, onText = () => {} }: TurnOptions & { readonly signal: AbortSignal },
  ) {
    const { session, capsule, model, context: more } = this.options;
    const { format } = model;
    const request: DeepPartial<ContextRequest> = {
      tools: this.tools.map(definitionOf),
      ...more,
      session,
      ...(capsule === undefined ? {} : { capsule }),
      ...(model.name === undefined ? {} : { model: model.name }),
      ...event,
      activeTurnId: turn.id,
      render: format,
      bodyOnly: true,
    };
    for (let overflows = 0; ; overflows++) {
      const { context, rendered } = await this.contexts.assemble(request, { signal });
      const { assemblyId } = context;
      try {
        const body = await model.call({ body: rendered!.body, model: context.model, signal, onText });
        return { assemblyId, capsule: context.capsule, response: { format, body: Buffer.from(body) } };
      } catch (thrown) {
        const isOverflow = thrown instanceof ProviderError && thrown.isOverflow;
        if (!isOverflow || overflows === mostOverflows) throw thrown;
        const errorBody = thrown.body.slice(0, 16_384);
        await this.quire.assembly.reportOverflow({ assemblyId, errorBody }).catch((error) => {
          // Others compacted the thread meanwhile: the next context is shorter, too.
          if (QuireError.from(error).reason !== "COMPACTION_OUTDATED") throw error;
        });
      }
    }
  }

  /** A call of a memory tool, which the server carries out. */
  private async remember(agent: string, call: ToolCallPart): Promise<DeepPartial<ToolOutput>> {
    const { callId, name, argumentsJson } = call;
    const { content, isError } = await this.quire.memory.executeTool({ agent, name, argumentsJson });
    return { callId, text: content, isError };
  }
}

/** A sub-agent with one task. */
export class Worker extends Agent {
  constructor(
    private readonly calls: Pick<Quire, "ledger" | "assembly" | "memory">,
    private readonly own: AgentOptions,
    readonly task: string,
  ) {
    super(calls, own);
  }

  get session(): string {
    return this.own.session;
  }

  /** Carries the task out in one turn, and says in the ledger how it ended. */
  async work(options: TurnOptions = {}): Promise<TurnOutcome> {
    const end = (taskStatus: TaskStatus) =>
      this.calls.ledger.updateSession({ session: this.session, taskStatus });
    try {
      const outcome = await this.turn(this.task, options);
      await end(TaskStatus.COMPLETED);
      return outcome;
    } catch (error) {
      await end(TaskStatus.FAILED).catch(() => {});
      throw error;
    }
  }
}

function partsOf(input: string | readonly DeepPartial<Part>[]): readonly DeepPartial<Part>[] {
  return typeof input === "string" ? [text(input)] : input;
}

/** A part that is a text. */
export function text(value: string): DeepPartial<Part> {
  return { content: { $case: "text", value: { text: value } } };
}

function givenUp(callId: string): DeepPartial<ToolOutput> {
  return {
    callId,
    text: "This turn has taken as many steps as it may. The call was not carried out.",
    isError: true,
  };
}
