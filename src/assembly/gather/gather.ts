import { timeLeftMs } from "../../compaction/jobs/time-left.js";
import type { InputHash } from "../../contract/gen/quire/v1/assembly.js";
import type { SourceReport } from "../../contract/gen/quire/v1/source.js";
import { SourcePosition } from "../../domain/source.js";
import type { LedgerDeps } from "../../ledger/deps.js";
import { askSources } from "../../sources/ask-sources.js";
import type { AskedSource } from "../../sources/asked-source.js";
import type { SourceDeps } from "../../sources/deps.js";
import type { ActiveSource, ExampleMessage, ShownHistory, SourceView } from "../../sources/source.js";
import { decodeMessages, newestFirst } from "../../thread/message-codec.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import type { CallLimits } from "../call-limits.js";
import type { HistoryStage } from "../history/history.js";
import type { ContextPlan } from "../plan/plan.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { expectedHistory } from "./expected-history.js";
import { type Ahead, type GatheredSource, sourceSection } from "./gathered.js";
import { limitAnswer } from "./limit-answer.js";

/** What of a resolved request it needs. */
export type GatherInput = Pick<
  ResolvedContext,
  | "capsule"
  | "derived"
  | "modelName"
  | "nowMs"
  | "request"
  | "role"
  | "scale"
  | "session"
  | "sources"
  | "task"
  | "templates"
  | "tenantId"
  | "thread"
>;

export interface GatherDeps {
  readonly counter: TokenCounter;
  readonly sources: SourceDeps;
  readonly ledger: LedgerDeps;
}

type Asked = Promise<AskedSource> | AskedSource;

/** Sources that were asked, and those that are still to be. */
export interface Gathering {
  readonly view: SourceView;
  readonly asked: ReadonlyMap<string, Asked>;
  /** Asked when history is settled. */
  readonly later: readonly ActiveSource[];
  readonly ahead: readonly GatheredSource[];
}

/** More than a call may take. */
const longestMs = 600_000;

/** Asks all sources at once, but for those that must know what history shows. Undefined where there are none. */
export function startGathering(
  { sources: deps }: GatherDeps,
  resolved: GatherInput,
  plan: ContextPlan,
  limits: CallLimits,
): Gathering | undefined {
  const { sources, request } = resolved;
  // Without an event, what a current message could show stands at the end of what tools gave.
  const wanted = request.event
    ? sources
    : sources.filter(
        ({ source, rules }) =>
          rules.position !== SourcePosition.CURRENT ||
          (request.activeTurnId !== "" && source.speaksInToolLoops === true),
      );
  if (wanted.length === 0) return undefined;
  const view = viewOf(resolved, plan);
  const now = wanted.filter(({ source }) => !source.isAfterHistory);
  const later = wanted.filter(({ source }) => source.isAfterHistory);
  const answers = askSources(deps.calls, deps.timers, now, view, askingLimits(limits));
  const asked = new Map(now.map(({ source }, index) => [source.name, answers[index]!]));
  return { view, asked, later, ahead: [] };
}

function viewOf(resolved: GatherInput, plan: ContextPlan): SourceView {
  const { request, capsule, session, derived, templates } = resolved;
  const { event } = request;
  const texts = (event?.content ?? []).flatMap(({ content }) =>
    content?.$case === "text" ? [content.value.text] : [],
  );
  return {
    tenantId: resolved.tenantId,
    sessionId: session.id,
    sessionLabel: session.label,
    headTurnId: session.headTurnId ?? "",
    agent: capsule.name,
    role: resolved.role,
    task: resolved.task,
    model: resolved.modelName,
    eventText: texts.join("\n"),
    isInToolLoop: false,
    identity: event?.identity ?? "",
    platform: event?.platform ?? "",
    permissions: request.permissionsGranted,
    contextTokens: plan.limits.available,
    budgetTokens: plan.memoryLane,
    recall: { limit: derived.recallLimit, threshold: derived.similarityThreshold },
    nowMs: resolved.nowMs,
    isDryRun: request.dryRun,
    texts: templates.texts,
    history: undefined,
  };
}

/** What stands before history, awaited within the deadlines of its sources. */
export async function gatherAhead(
  deps: GatherDeps,
  resolved: GatherInput,
  started: Gathering,
  limits: CallLimits,
): Promise<{ readonly ahead: Ahead; readonly gathering: Gathering }> {
  const gathering = await askExpecting(deps, resolved, started, limits);
  const names = resolved.sources.flatMap(({ source, rules }) =>
    rules.position === SourcePosition.CURRENT ? [] : [source.name],
  );
  const found = await Promise.all(
    names.flatMap((name) => (gathering.asked.has(name) ? [gathered(deps, resolved, gathering, name)] : [])),
  );
  const sections = found
    .filter(({ asked, blocks }) => asked.rules.position === SourcePosition.SYSTEM && blocks.length > 0)
    .map(({ asked, blocks }) => ({
      name: sourceSection(asked.source.name),
      text: blocks.map(({ text }) => text).join("\n\n"),
    }));
  const examples = found
    .filter(({ asked }) => asked.rules.position === SourcePosition.BEFORE_HISTORY)
    .flatMap(examplesOf);
  return { ahead: { sections, examples }, gathering: { ...gathering, ahead: found } };
}

/** Sources that stand before history and must know what it shows are told what it shows if its cut stays. */
async function askExpecting(
  { sources, ledger }: GatherDeps,
  resolved: GatherInput,
  gathering: Gathering,
  limits: CallLimits,
): Promise<Gathering> {
  const isAhead = ({ rules }: ActiveSource) => rules.position !== SourcePosition.CURRENT;
  const early = gathering.later.filter(isAhead);
  if (early.length === 0) return gathering;
  const view = { ...gathering.view, history: await expectedHistory(ledger, resolved) };
  const answers = askSources(sources.calls, sources.timers, early, view, askingLimits(limits));
  const asked = new Map(gathering.asked);
  for (const [index, { source }] of early.entries()) asked.set(source.name, answers[index]!);
  return { ...gathering, asked, later: gathering.later.filter((one) => !isAhead(one)) };
}

function askingLimits({ deadlineMs, signal }: CallLimits) {
  return { mostMs: timeLeftMs(deadlineMs, longestMs), signal };
}

/** Blocks that are no messages are one together. */
function examplesOf({ blocks }: GatheredSource): readonly ExampleMessage[] {
  const texts = blocks.flatMap(({ messages, text }) => (messages.length > 0 ? [] : [text]));
  const own = texts.length > 0 ? [{ role: "user" as const, text: texts.join("\n\n") }] : [];
  return [...own, ...blocks.flatMap(({ messages }) => messages)];
}

/** What is for the current message, each source as soon as it is there; at the end all of them, by their place. */
export async function* gatherRest(
  deps: GatherDeps,
  resolved: GatherInput,
  gathering: Gathering,
  history: HistoryStage,
  limits: CallLimits,
): AsyncGenerator<SourceReport, readonly GatheredSource[]> {
  for (const { report } of gathering.ahead) yield report;
  const isInToolLoop = !resolved.request.event && endsWithResults(history);
  const view = { ...gathering.view, history: shownIn(history), isInToolLoop };
  const later = resolved.request.event || isInToolLoop ? gathering.later : [];
  const late = askSources(deps.sources.calls, deps.sources.timers, later, view, askingLimits(limits));
  const asked = new Map([
    ...gathering.asked,
    ...later.map(({ source }, index) => [source.name, late[index]!] as const),
  ]);
  const known = new Map(gathering.ahead.map((each) => [each.asked.source.name, each]));
  const open = new Map(
    [...asked.keys()]
      .filter((name) => !known.has(name))
      .map((name) => [name, gathered(deps, resolved, { asked, view }, name)]),
  );
  while (open.size > 0) {
    const next = await Promise.race(open.values());
    const { name } = next.asked.source;
    open.delete(name);
    known.set(name, next);
    yield next.report;
  }
  return resolved.sources.flatMap(({ source }) => known.get(source.name) ?? []);
}

/** Whether an open turn goes on after the results of tools. */
function endsWithResults({ shown }: HistoryStage): boolean {
  const last = shown.at(-1);
  return last?.isActive === true && last.facts.messages.at(-1)?.role === "T";
}

function shownIn({ shown, layer, allPieces }: HistoryStage): ShownHistory {
  // An open turn has no place yet.
  const firstDepth = shown.find(({ stored }) => stored.depth > 0)?.stored.depth ?? 0;
  return {
    firstDepth,
    turns: shown.map(({ stored: { turnId, depth } }) => ({ turnId, depth })),
    compactionId: layer.compactionId,
    summary: () => (layer.compactionId === "" ? [] : decodeMessages(allPieces()[0]!)),
    newestFirst: () => newestFirst(allPieces()),
  };
}

async function gathered(
  { counter }: GatherDeps,
  resolved: GatherInput,
  { asked, view }: Pick<Gathering, "asked" | "view">,
  name: string,
): Promise<GatheredSource> {
  const own = await asked.get(name)!;
  const { suppressedBy } = own.rules;
  const suppressor = suppressedBy === "" ? undefined : await asked.get(suppressedBy);
  return limitAnswer(counter, resolved, own, suppressor, view.contextTokens);
}

export function sourceInputs(sources: readonly GatheredSource[]): readonly InputHash[] {
  return sources.flatMap(({ input }) => input ?? []);
}
