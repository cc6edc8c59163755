import {
  type AgentEvent,
  CandidateRule,
  ConceptualLayer,
  type ContextCandidate,
  type InputHash,
  InputKind,
} from "../../contract/gen/quire/v1/assembly.js";
import { Message } from "../../contract/gen/quire/v1/message.js";
import { AgentRole } from "../../domain/agent-role.js";
import { sha256 } from "../../domain/hash.js";
import type { InjectedContext, InjectedSystem } from "../../domain/injected-context.js";
import { emptyMessage, MessageRole, type Part, textPart } from "../../domain/message.js";
import { fill } from "../../domain/prompt-texts.js";
import type { Soon } from "../../domain/soon.js";
import { least, type ModelTokens, minus, modelTokens, plus, sumOf } from "../../domain/token-units.js";
import { type Warning, WarningKind, warning } from "../../domain/warning.js";
import { wireBytes } from "../../domain/wire-bytes.js";
import { mediaTokens } from "../../models/media-tokens.js";
import { scaled, unscaled } from "../../models/token-scale.js";
import { messageOverheadTokens } from "../../thread/message-overhead.js";
import { countMessages, type MessageTokens, type SizedMedia } from "../../thread/message-text.js";
import { assumedImage } from "../../tokens/media/media.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { eventCandidate } from "../plan/candidates.js";
import type { ContextPlan } from "../plan/plan.js";
import { cutMarker, isStrictTruncate, truncateText } from "../plan/strict.js";
import type { SectionUpdate } from "../prefix/section-update.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { blockDetail, blockInputs, blockSection, shownBlock } from "../system/memory-blocks.js";
import { activityEntries } from "./activity-text.js";
import { injectedContext, type SentNames } from "./injected-context.js";
import { injectedJson } from "./injected-json.js";
import { oneLine } from "./one-line.js";

/** What of a resolved request it needs. */
export type EventInput = Pick<
  ResolvedContext,
  | "activity"
  | "blocks"
  | "capsule"
  | "model"
  | "nowMs"
  | "request"
  | "role"
  | "scale"
  | "settings"
  | "templates"
>;

export interface EventDeps {
  readonly counter: TokenCounter;
}

export interface CurrentStage {
  readonly message: Message | undefined;
  readonly wire: Buffer;
  readonly hash: Buffer;
  readonly tokens: ModelTokens;
  readonly truncated: boolean;
  /** What of its tokens is memory blocks. */
  readonly memoryTokens: ModelTokens;
  /** What of its tokens is blocks of sources. */
  readonly sourceTokens: ModelTokens;
  /** Where in the text of its context they stand. */
  readonly sourcesAt: number;
  /** Whether there are images and files in it, whose tokens follow from a formula. */
  readonly hasMedia: boolean;
  readonly warnings: readonly Warning[];
  readonly candidates: readonly ContextCandidate[];
  /** What of the event is named in the receipt. */
  readonly inputs: readonly InputHash[];
}

/** The message that the model answers: what happens now, a blank line, and the event's own content, untouched. */
export function buildCurrent(
  deps: EventDeps,
  resolved: EventInput,
  plan: ContextPlan,
  updates: readonly SectionUpdate[],
  system: InjectedSystem | undefined,
): Soon<CurrentStage> {
  const { event } = resolved.request;
  if (!event) return noCurrent;
  const lines = contextLines(resolved, event, updates);
  const context = `${lines.map(({ text }) => text).join("\n")}\n\n`;
  const write = (kept: string, parts: readonly Part[]) =>
    messageOf(
      kept,
      parts,
      injectedContext(resolved, event, system, sentNames(lines, commonLength(context, kept))),
    );
  const draft: Draft = { event, lines, context, write };
  const message = write(context, event.content);
  const cost = costOf(deps, resolved, message);
  const isPlain = !isStrictTruncate(resolved) && resolved.blocks.named.length === 0;
  return isPlain && !(cost instanceof Promise)
    ? currentOf(resolved, draft, message, cost, false, [])
    : fittingCurrent(deps, resolved, plan, draft, message, cost);
}

interface Draft {
  readonly event: AgentEvent;
  readonly lines: readonly ContextLine[];
  readonly context: string;
  readonly write: (context: string, parts: readonly Part[]) => Message;
}

const noCurrent: CurrentStage = {
  message: undefined,
  wire: Buffer.alloc(0),
  hash: sha256(),
  tokens: modelTokens(0),
  truncated: false,
  memoryTokens: modelTokens(0),
  sourceTokens: modelTokens(0),
  sourcesAt: 0,
  hasMedia: false,
  warnings: [],
  candidates: [],
  inputs: [],
};

async function fittingCurrent(
  deps: EventDeps,
  resolved: EventInput,
  plan: ContextPlan,
  draft: Draft,
  whole: Message,
  wholeCosts: Soon<MessageCost>,
): Promise<CurrentStage> {
  const { event, context, lines, write } = draft;
  const wholeCost = await wholeCosts;
  const truncated = isStrictTruncate(resolved) && wholeCost.tokens > plan.lanes.buffer;
  const message = truncated
    ? await truncate(deps, resolved, event, context, plan.lanes.buffer, write)
    : whole;
  const cost = truncated ? await costOf(deps, resolved, message) : wholeCost;
  const { blocks: sent } = sentNames(lines, commonLength(context, contextText(message)));
  const blocks = await blockCandidates(deps, resolved, sent, ruleOf(truncated));
  return currentOf(resolved, draft, message, cost, truncated, blocks);
}

function ruleOf(truncated: boolean): CandidateRule {
  return truncated ? CandidateRule.LANE : CandidateRule.NEVER_CUT;
}

function currentOf(
  resolved: EventInput,
  { event, lines, context }: Draft,
  message: Message,
  { tokens, medias }: MessageCost,
  truncated: boolean,
  blocks: readonly BlockCandidate[],
): CurrentStage {
  const wire = wireBytes(Message, message);
  const detail = [...(truncated ? ["truncated"] : []), ...eventFacts(resolved, event)].join("; ");
  const memoryTokens = least(
    tokens,
    sumOf(
      blocks.filter(({ kept }) => kept),
      (block) => block.tokens,
    ),
  );
  const own = minus(tokens, memoryTokens);
  return {
    message,
    wire,
    hash: sha256(wire),
    tokens,
    truncated,
    hasMedia: medias.length > 0,
    warnings: estimates(medias),
    memoryTokens,
    sourceTokens: modelTokens(0),
    sourcesAt: sourcesAt(lines, context, contextText(message)),
    candidates: [
      eventCandidate({ name: "current message", tokens: own, kept: true, rule: ruleOf(truncated), detail }),
      ...blocks.map((block) => ({ ...block, layer: ConceptualLayer.MEMORY })),
    ],
    inputs: [...eventInputs(resolved, event), ...blockInputs(resolved, resolved.blocks.named)],
  };
}

/** The message with blocks of sources in its context, after the memory blocks that the request names. Without an event they are all of it. */
export async function addSources(
  deps: EventDeps,
  resolved: EventInput,
  current: CurrentStage,
  blocks: readonly string[],
): Promise<CurrentStage> {
  const { sourcesAt: at } = current;
  if (blocks.length === 0) return current;
  const before = current.message ?? { ...emptyMessage, role: MessageRole.USER };
  const text = contextText(before);
  const inserted = blocks.join("\n");
  const context = current.message ? withInserted(text, at, `${inserted}\n`) : inserted;
  const message: Message = { ...before, contextParts: [textPart(context)] };
  const wire = wireBytes(Message, message);
  const { tokens } = await costOf(deps, resolved, message);
  const sourceTokens = minus(tokens, current.tokens);
  return { ...current, message, wire, hash: sha256(wire), tokens, sourceTokens };
}

function withInserted(text: string, at: number, inserted: string): string {
  return text === "" ? `${inserted}\n` : `${text.slice(0, at)}${inserted}${text.slice(at)}`;
}

/** Where blocks of sources go: before what follows the memory blocks; at the end of a context that was cut before that place. */
function sourcesAt(lines: readonly ContextLine[], context: string, kept: string): number {
  const after = lines.findIndex(({ kind }) => kind === "trigger" || kind === "update" || kind === "hook");
  const before = after < 0 ? lines : lines.slice(0, after);
  const at = before.reduce((sum, { text }) => sum + text.length + 1, 0);
  return at <= commonLength(context, kept) ? at : Math.max(0, kept.length - 1);
}

type BlockCandidate = ContextCandidate & { readonly tokens: ModelTokens };

/** The blocks that the request names, each a candidate of its own. */
async function blockCandidates(
  { counter }: EventDeps,
  resolved: EventInput,
  sent: readonly string[],
  rule: CandidateRule,
): Promise<readonly BlockCandidate[]> {
  const { named } = resolved.blocks;
  if (named.length === 0) return [];
  const counts = await counter.countAll(
    named.map((block) => shownBlock(resolved, block)),
    resolved.scale.vocabulary,
  );
  return named.map((block, index) => {
    const tokens = scaled(resolved.scale, counts[index]!);
    const name = blockSection(block);
    const kept = sent.includes(name);
    return { ...eventCandidate({ name, tokens, kept, rule, detail: blockDetail(block) }), tokens };
  });
}

/** A line of the context, or several, and what it is there for. */
interface ContextLine {
  readonly text: string;
  readonly kind?: "platform" | "hook" | "trigger" | "update" | "block";
  readonly name?: string;
}

function contextLines(
  resolved: EventInput,
  event: AgentEvent,
  updates: readonly SectionUpdate[],
): ContextLine[] {
  // A label that an operator took away leaves no empty line.
  const lines = labels(resolved, event).filter(({ text }) => text.trim() !== "");
  for (const block of resolved.blocks.named)
    lines.push({ text: shownBlock(resolved, block), kind: "block", name: blockSection(block) });
  for (const { trigger, content } of resolved.capsule.body?.persona?.injectionPrompts ?? []) {
    if (trigger !== "start" && event.triggers.includes(trigger))
      lines.push({ text: content, kind: "trigger", name: trigger });
  }
  for (const { text, section } of updates) lines.push({ text, kind: "update", name: section });
  for (const { content, name } of event.hooks) lines.push({ text: content, kind: "hook", name });
  return lines;
}

/** The names of what is in the first characters of a context, wholly or in part. */
function sentNames(
  lines: readonly ContextLine[],
  sentChars: number,
): SentNames & { readonly blocks: readonly string[] } {
  const names = {
    platform: [] as string[],
    hook: [] as string[],
    trigger: [] as string[],
    update: [] as string[],
    block: [] as string[],
  };
  let start = 0;
  for (const { text, kind, name } of lines) {
    if (kind && name !== undefined && start < sentChars) names[kind].push(name);
    start += text.length + 1;
  }
  const { platform, hook: hooks, trigger: triggers, update: updates, block: blocks } = names;
  return { platform: platform[0] ?? "", hooks, triggers, updates, blocks };
}

function commonLength(a: string, b: string): number {
  if (a === b) return a.length;
  let length = 0;
  while (length < a.length && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
}

function labels(resolved: EventInput, event: AgentEvent): ContextLine[] {
  const { role, templates, nowMs } = resolved;
  const { texts } = templates;
  const lines: ContextLine[] = [
    { text: fill(texts["current-time"], { time: new Date(nowMs).toISOString() }) },
    { text: fill(texts["current-timezone"], { timezone: event.timezone || "UTC" }) },
  ];
  if (role !== AgentRole.WORKER && event.platform !== "") {
    const { platform } = event;
    lines.push({ text: fill(texts["current-platform"], { platform }), kind: "platform", name: platform });
    if (event.actions.length > 0)
      lines.push({ text: fill(texts["current-actions"], { actions: event.actions.join(", ") }) });
  }
  if (event.identity !== "")
    lines.push({ text: fill(texts["current-identity"], { identity: oneLine(event.identity) }) });
  const metadata = sortedMetadata(event);
  if (metadata.length > 0) lines.push({ text: texts["current-metadata-heading"] });
  for (const [key, value] of metadata)
    lines.push({ text: fill(texts["current-metadata-entry"], { key: oneLine(key), value: oneLine(value) }) });
  const activity = activityOf(resolved, event);
  if (activity.length > 0) lines.push({ text: texts["current-activity-heading"] });
  for (const entry of activity) lines.push({ text: fill(texts["current-activity-entry"], { entry }) });
  return lines;
}

/** What Quire knows of, then what the caller says: its entries come first where there is not room for all. */
function activityOf({ activity, settings, templates }: EventInput, event: AgentEvent): readonly string[] {
  if (settings.activityLimit === 0) return [];
  return [...activityEntries(templates.texts, activity), ...event.activity.slice(-settings.activityLimit)];
}

/** The caller's tags in an order that does not depend on how they were sent. */
function sortedMetadata({ metadata }: AgentEvent): [key: string, value: string][] {
  return Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Who sent it, which tags it has, and what is told beside it, for the receipt. */
function eventFacts({ activity }: EventInput, event: AgentEvent): readonly string[] {
  const keys = sortedMetadata(event).map(([key]) => key);
  const { entries, leftOut, sinceMs } = activity;
  const more = leftOut === 0 ? "" : `, ${leftOut} older left out`;
  const since = () => new Date(sinceMs).toISOString();
  return [
    ...(entries.length === 0 ? [] : [`activity since ${since()}: ${entries.length}${more}`]),
    ...(event.identity === "" ? [] : [`identity ${event.identity}`]),
    ...(keys.length === 0 ? [] : [`metadata ${keys.join(", ")}`]),
  ];
}

function eventInputs({ activity, templates }: EventInput, event: AgentEvent): InputHash[] {
  const input = (name: string, text: string, kind: InputKind = InputKind.EVENT): InputHash => ({
    kind,
    name,
    version: 0,
    hash: sha256(Buffer.from(text)),
  });
  const metadata = sortedMetadata(event);
  const happened = activityEntries(templates.texts, activity);
  return [
    ...(happened.length === 0 ? [] : [input("recent", happened.join("\n"), InputKind.ACTIVITY)]),
    ...(event.identity === "" ? [] : [input("identity", event.identity)]),
    ...(metadata.length === 0 ? [] : [input("metadata", JSON.stringify(metadata))]),
  ];
}

function messageOf(context: string, parts: readonly Part[], injected: InjectedContext): Message {
  return {
    ...emptyMessage,
    role: MessageRole.USER,
    parts: [...parts],
    contextParts: context === "" ? [] : [textPart(context)],
    contextJson: injectedJson(injected),
    injected,
  };
}

function contextText({ contextParts }: Message): string {
  const [part] = contextParts;
  return part?.content?.$case === "text" ? part.content.value.text : "";
}

interface MessageCost {
  readonly tokens: ModelTokens;
  readonly medias: readonly SizedMedia[];
}

/** What a message costs: images and files by the rules of the model, since it is known here. */
function costOf(deps: EventDeps, resolved: EventInput, message: Message): Soon<MessageCost> {
  const counting = countMessages(deps.counter, [message], undefined, resolved.scale.vocabulary);
  return counting instanceof Promise
    ? counting.then(([counted]) => costBy(resolved, counted!))
    : costBy(resolved, counting[0]!);
}

function costBy({ scale, model }: EventInput, { parts, context, media, medias }: MessageTokens): MessageCost {
  const texts = scaled(scale, plus(plus(minus(parts, media), context), messageOverheadTokens));
  return {
    tokens: plus(
      texts,
      sumOf(medias, (each) => mediaTokens(model.entry, each)),
    ),
    medias,
  };
}

/** What is named by a URI only, or cannot be read, is not known better. */
function estimates(medias: readonly SizedMedia[]): readonly Warning[] {
  const estimated = medias.filter(({ isEstimated }) => isEstimated);
  if (estimated.length === 0) return [];
  const images = estimated.filter(({ kind }) => kind === "image").length;
  const { width, height } = assumedImage;
  const detail = `the sizes of ${images} images and ${estimated.length - images} files are not known: an image is taken to have ${width} by ${height} pixels, a file to have a page or one for each 50,000 bytes`;
  return [warning(WarningKind.MEDIA_ESTIMATED, detail)];
}

/** Cuts a message to its lane. The context gives way to the content, but for half of the lane; of the content, the last parts go first. */
async function truncate(
  deps: EventDeps,
  resolved: EventInput,
  event: AgentEvent,
  context: string,
  laneTokens: ModelTokens,
  write: (context: string, parts: readonly Part[]) => Message,
): Promise<Message> {
  const { counter } = deps;
  const { vocabulary } = resolved.scale;
  const mark = cutMarker(resolved);
  const lane = Math.max(0, unscaled(resolved.scale, laneTokens) - messageOverheadTokens);
  const texts = event.content.map((part) => (part.content?.$case === "text" ? part.content.value.text : ""));
  const contextTokens = await counter.count(context, vocabulary);
  const single = event.content.map((part) => ({ ...emptyMessage, parts: [part] }));
  const counts = (await countMessages(counter, single, undefined, vocabulary)).map(({ parts }) => parts);
  const contentTokens = counts.reduce((sum, count) => sum + count, 0);
  const contextRoom = Math.max(lane - contentTokens, Math.floor(lane / 2));
  const keptContext =
    contextTokens <= contextRoom
      ? context
      : await truncateText(counter, context, contextRoom, vocabulary, `${mark}\n\n`);
  let left = lane - (await counter.count(keptContext, vocabulary));
  const parts: Part[] = [];
  for (const [index, part] of event.content.entries()) {
    const text = texts[index]!;
    const isText = part.content?.$case === "text";
    const isWhole = counts[index]! <= left;
    const fitting = isWhole || !isText ? text : await truncateText(counter, text, left, vocabulary, mark);
    if (isWhole) parts.push(part);
    else if (fitting !== "") parts.push({ content: { $case: "text", value: { text: fitting } } });
    left = counts[index]! <= left ? left - counts[index]! : 0;
  }
  return write(keptContext, parts);
}
