import type { Quire } from "./connect.js";
import { AssembledContext, type HistoryLayer } from "./gen/quire/v1/assembly.js";
import type { AssembleResponse, ContextRequest, HeldContext } from "./gen/quire/v1/assembly_service.js";
import type { DeepPartial, Message } from "./gen/quire/v1/message.js";
import type { RenderedBody } from "./gen/quire/v1/rendering.js";
import { QuireError } from "./quire-error.js";
import { withRetries } from "./retry.js";
import type { CallOptions } from "./service.js";

/** A whole context, and the provider's request body if the request asked for one. */
export interface FoldedContext {
  readonly context: AssembledContext;
  readonly rendered: RenderedBody | undefined;
  /** How many messages of history came over the wire; the others were held already. */
  readonly sentMessages: number;
}

export interface AssembleOptions extends CallOptions {
  /** Sees each event as it comes. It begins again with `resolved` if the connection broke. */
  readonly onEvent?: (event: NonNullable<AssembleResponse["event"]>) => void;
}

/**
 * Contexts by `Assemble`, put together. What a session's last context had is kept, so that the next one is sent only what is new; messages
 * that are held are the same objects again.
 */
export class Contexts {
  private readonly held = new Map<string, AssembledContext>();

  constructor(
    private readonly quire: Pick<Quire, "assembly">,
    /** Of how many sessions the last context is kept. */
    private readonly maxSessions = 64,
  ) {}

  async assemble(
    request: DeepPartial<ContextRequest>,
    options: AssembleOptions = {},
  ): Promise<FoldedContext> {
    const { signal, timeoutMs = 60_000, onEvent } = options;
    const key = request.session ?? "";
    const held = request.bodyOnly ? undefined : this.held.get(key);
    const context = held ? { ...request, have: heldOf(held) } : request;
    const folded = await withRetries(
      (leftMs) => {
        const stop = AbortSignal.timeout(Math.ceil(leftMs));
        const either = signal ? AbortSignal.any([signal, stop]) : stop;
        return fold(this.quire.assembly.assemble({ context }, { signal: either }), held, onEvent);
      },
      { signal, timeoutMs },
    );
    if (!request.bodyOnly && !request.dryRun) this.keep(key, folded.context);
    return folded;
  }

  /** Forgets what is held of a session. */
  forget(session: string): void {
    this.held.delete(session);
  }

  private keep(key: string, context: AssembledContext): void {
    this.held.delete(key);
    this.held.set(key, context);
    const [oldest] = this.held.keys();
    if (this.held.size > this.maxSessions) this.held.delete(oldest!);
  }
}

/** Puts the events of an assembly together, on top of the context that the request's `have` was made from. */
export async function fold(
  events: AsyncIterable<AssembleResponse>,
  held?: AssembledContext,
  onEvent: AssembleOptions["onEvent"] = () => {},
): Promise<FoldedContext> {
  const context: { -readonly [Key in keyof AssembledContext]: AssembledContext[Key] } =
    AssembledContext.create();
  const sent: Message[] = [];
  const chunks: Uint8Array[] = [];
  let rendered: RenderedBody | undefined;
  let layer: HistoryLayer | undefined;
  let isWhole = false;
  for await (const { event } of events) {
    if (!event) continue;
    onEvent(event);
    switch (event.$case) {
      case "resolved": {
        const { budget, lanes: _, ...about } = event.value;
        Object.assign(context, about, { tokenBudget: budget });
        break;
      }
      case "tools":
        context.tools = event.value.reused ? held!.tools : event.value.tools;
        break;
      case "system":
        context.systemPrompt = event.value.reused ? held!.systemPrompt : event.value.text;
        context.sections = event.value.sections;
        break;
      case "history":
        layer ??= event.value.layer;
        sent.push(...event.value.messages);
        break;
      case "currentMessage":
        context.currentMessage = event.value.message;
        break;
      case "rendered":
        chunks.push(event.value.data);
        if (event.value.about) rendered = { ...event.value.about, body: Buffer.concat(chunks) };
        break;
      case "completed": {
        const { budget, assemblyId = "", ...about } = event.value;
        Object.assign(context, about, { tokenBudget: budget }, assemblyId ? { assemblyId } : {});
        isWhole = true;
      }
    }
  }
  if (!isWhole) throw new QuireError("the stream ended before the context did", { code: "UNAVAILABLE" });
  context.history = layer?.reused ? [...upTo(held!.history, layer.afterTurnId), ...sent] : sent;
  context.historyLayer = layer && { ...layer, reused: false, afterTurnId: "" };
  return { context, rendered, sentMessages: sent.length };
}

/** What to say in `have` about a context that is held whole. */
export function heldOf({ hashes, historyLayer }: AssembledContext): DeepPartial<HeldContext> {
  return {
    toolsHash: hashes?.tools ?? Buffer.alloc(0),
    systemHash: hashes?.system ?? Buffer.alloc(0),
    lastTurnId: historyLayer?.lastTurnId ?? "",
    chainHash: historyLayer?.chainHash ?? Buffer.alloc(0),
    cutId: historyLayer?.cutId ?? "",
  };
}

function upTo(messages: readonly Message[], turnId: string): readonly Message[] {
  return messages.slice(0, messages.findLastIndex((message) => message.turnId === turnId) + 1);
}
