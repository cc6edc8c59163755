import { messageOverheadTokens, scaled, unscaled } from "../budget/token-scale.js";
import type { Candidate, Event } from "../contract/gen/quire/v1/assembly.js";
import { Message } from "../contract/gen/quire/v1/message.js";
import { sha256 } from "../domain/hash.js";
import { MessageRole, type Part } from "../domain/message.js";
import { AgentRole } from "../domain/turn.js";
import { countMessages } from "../ledger/message-text.js";
import { eventCandidate } from "./candidates.js";
import type { AssemblyDeps } from "./deps.js";
import type { ContextPlan } from "./plan.js";
import type { SectionUpdate } from "./prefix/section-update.js";
import type { ResolvedContext } from "./resolve.js";
import { cutMarker, isStrictTruncate, truncateText } from "./strict.js";

export interface CurrentStage {
  readonly message: Message | undefined;
  readonly wire: Buffer;
  readonly hash: Buffer;
  readonly tokens: number;
  readonly truncated: boolean;
  /** Whether something in it is not counted: images and files. */
  readonly hasUncounted: boolean;
  readonly candidates: readonly Candidate[];
}

/** The message that the model answers: what happens now, a blank line, and the event's own content, untouched. */
export async function buildCurrent(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  plan: ContextPlan,
  updates: readonly SectionUpdate[] = [],
): Promise<CurrentStage> {
  const { event } = resolved.request;
  if (!event) {
    return {
      message: undefined,
      wire: Buffer.alloc(0),
      hash: sha256(),
      tokens: 0,
      truncated: false,
      hasUncounted: false,
      candidates: [],
    };
  }
  const context = `${contextLines(resolved, event, updates).join("\n")}\n\n`;
  const whole = messageOf(resolved, event, context, event.content);
  const wholeTokens = await tokensOf(deps, resolved, whole);
  const truncated = isStrictTruncate(resolved) && wholeTokens > plan.lanes.buffer;
  const message = truncated ? await truncate(deps, resolved, event, context, plan.lanes.buffer) : whole;
  const tokens = truncated ? await tokensOf(deps, resolved, message) : wholeTokens;
  const wire = Buffer.from(Message.encode(message).finish());
  const detail = truncated ? "truncated" : "";
  const rule = truncated ? "lane" : "never cut";
  return {
    message,
    wire,
    hash: sha256(wire),
    tokens,
    truncated,
    hasUncounted: message.parts.some(
      ({ content }) => content?.$case === "image" || content?.$case === "file",
    ),
    candidates: [eventCandidate({ name: "current message", tokens, kept: true, rule, detail })],
  };
}

function contextLines(resolved: ResolvedContext, event: Event, updates: readonly SectionUpdate[]): string[] {
  const { role, settings, capsule, nowMs } = resolved;
  const lines = [`Current time: ${new Date(nowMs).toISOString()}`, `Timezone: ${event.timezone || "UTC"}`];
  if (role !== AgentRole.WORKER) {
    if (event.platform !== "") lines.push(`Platform: ${event.platform}`);
    if (event.actions.length > 0) lines.push(`Available actions: ${event.actions.join(", ")}`);
  }
  const activity = settings.activityLimit > 0 ? event.activity.slice(-settings.activityLimit) : [];
  if (activity.length > 0) lines.push("Recent activity:", ...activity.map((entry) => `- ${entry}`));
  for (const prompt of capsule.body?.persona?.injectionPrompts ?? []) {
    if (prompt.trigger !== "start" && event.triggers.includes(prompt.trigger)) lines.push(prompt.content);
  }
  for (const update of updates) lines.push(update.text);
  for (const hook of event.hooks) lines.push(hook.content);
  return lines;
}

function messageOf(
  resolved: ResolvedContext,
  event: Event,
  context: string,
  parts: readonly Part[],
): Message {
  return Message.create({
    role: MessageRole.USER,
    parts: [...parts],
    contextParts: context === "" ? [] : [{ content: { $case: "text", value: { text: context } } }],
    contextJson: JSON.stringify(contextJson(resolved, event)),
  });
}

/** What the context was made from, kept with the message when its turn is recorded. */
function contextJson(resolved: ResolvedContext, event: Event): object {
  const { capsule, workspace, nowMs } = resolved;
  const documents = (workspace?.documents ?? []).map(({ path, version, hash }) => ({
    path,
    version,
    hash: Buffer.from(hash).toString("hex"),
  }));
  return {
    system: {
      persona: {
        capsule: capsule.name,
        version: capsule.version,
        hash: Buffer.from(capsule.hash).toString("hex"),
      },
      documents,
      environment: workspace?.snapshot
        ? {
            capabilityCount: workspace.snapshot.capabilities.length,
            snapshotAt: workspace.snapshotTime?.toISOString() ?? null,
          }
        : null,
      memory: null,
    },
    event: { id: event.id, source: event.source, platform: event.platform, hookCount: event.hooks.length },
    attachments: event.attachments.map(({ path, firstLine, lastLine }) => ({
      path,
      lines: firstLine > 0 ? [firstLine, lastLine] : null,
    })),
    injectedAt: new Date(nowMs).toISOString(),
  };
}

async function tokensOf(deps: AssemblyDeps, resolved: ResolvedContext, message: Message): Promise<number> {
  const [tokens] = await countMessages(deps.counter, [message]);
  return scaled(resolved.scale, tokens!.parts + tokens!.context + messageOverheadTokens);
}

/** Cuts a message to its lane. The context gives way to the content, but for half of the lane; of the content, the last parts go first. */
async function truncate(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  event: Event,
  context: string,
  laneTokens: number,
): Promise<Message> {
  const { counter } = deps;
  const lane = Math.max(0, unscaled(resolved.scale, laneTokens) - messageOverheadTokens);
  const texts = event.content.map((part) => (part.content?.$case === "text" ? part.content.value.text : ""));
  const [contextTokens, ...counts] = await counter.countAll([context, ...texts], "o200k_base");
  const contentTokens = counts.reduce((sum, count) => sum + count, 0);
  const contextRoom = Math.max(lane - contentTokens, Math.floor(lane / 2));
  const keptContext =
    contextTokens! <= contextRoom
      ? context
      : await truncateText(counter, context, contextRoom, `${cutMarker}\n\n`);
  let left = lane - (await counter.count(keptContext));
  const parts: Part[] = [];
  for (const [index, part] of event.content.entries()) {
    const text = texts[index]!;
    const fitting = counts[index]! <= left ? text : await truncateText(counter, text, left);
    if (part.content?.$case !== "text" || fitting === text) parts.push(part);
    else if (fitting !== "") parts.push({ content: { $case: "text", value: { text: fitting } } });
    left = counts[index]! <= left ? left - counts[index]! : 0;
  }
  return messageOf(resolved, event, keptContext, parts);
}
