import type { HistoryLayer, SystemLayer, ToolsLayer } from "../../src/contract/gen/quire/v1/assembly.js";
import type {
  AssembleResponse,
  AssemblyCompleted,
  AssemblyResolved,
  HeldContext,
} from "../../src/contract/gen/quire/v1/assembly_service.js";
import type { CompactionEvent } from "../../src/contract/gen/quire/v1/compaction.js";
import { Message } from "../../src/contract/gen/quire/v1/message.js";
import type { Tool } from "../../src/contract/gen/quire/v1/workspace.js";

/** A context as a caller of the stream holds it. */
export interface FoldedContext {
  readonly resolved: AssemblyResolved;
  readonly system: SystemLayer;
  readonly tools: ToolsLayer;
  /** What was said of a compaction, in order. */
  readonly compaction: readonly NonNullable<CompactionEvent["event"]>[];
  readonly layer: HistoryLayer;
  readonly history: readonly Message[];
  readonly current: Message | undefined;
  readonly completed: AssemblyCompleted;
  /** How many messages of history came over the wire. */
  readonly sentMessages: number;
}

/** Puts the events of a stream together, on top of the context that is held already if there is one. */
export async function fold(
  events: AsyncIterable<AssembleResponse>,
  held?: FoldedContext,
): Promise<FoldedContext> {
  const found: Partial<{ -readonly [Key in keyof FoldedContext]: FoldedContext[Key] }> = {};
  const sent: Message[] = [];
  const compaction: NonNullable<CompactionEvent["event"]>[] = [];
  for await (const { event } of events) {
    if (event?.$case === "resolved") found.resolved = event.value;
    else if (event?.$case === "tools") found.tools = event.value;
    else if (event?.$case === "system") found.system = event.value;
    else if (event?.$case === "compaction") compaction.push(event.value.event!);
    else if (event?.$case === "currentMessage") found.current = event.value.message;
    else if (event?.$case === "completed") found.completed = event.value;
    else if (event?.$case === "history") {
      if (event.value.layer) found.layer = event.value.layer;
      sent.push(...event.value.messages);
    }
  }
  const { layer, tools, system } = found as FoldedContext;
  const kept = layer.reused ? upTo(held!.history, layer.afterTurnId) : [];
  const tool: readonly Tool[] = tools.reused ? held!.tools.tools : tools.tools;
  return {
    ...(found as FoldedContext),
    compaction,
    current: found.current,
    tools: { ...tools, tools: [...tool], reused: false },
    system: { ...system, text: system.reused ? held!.system.text : system.text, reused: false },
    layer: { ...layer, reused: false, afterTurnId: "" },
    history: [...kept, ...sent],
    sentMessages: sent.length,
  };
}

function upTo(messages: readonly Message[], turnId: string): readonly Message[] {
  return messages.slice(0, messages.findLastIndex((message) => message.turnId === turnId) + 1);
}

export function heldOf(context: FoldedContext): HeldContext {
  return {
    toolsHash: context.tools.hash,
    systemHash: context.system.hash,
    lastTurnId: context.layer.lastTurnId,
    chainHash: context.layer.chainHash,
    cutId: context.layer.cutId,
  };
}

/** The messages as bytes, for comparisons. */
export function bytesOf(messages: readonly Message[]): string {
  return messages
    .map((message) => Buffer.from(Message.encode(message).finish()).toString("base64"))
    .join("\n");
}
