import {
  CandidateRule,
  type ContextCandidate,
  type InputHash,
  InputKind,
} from "../../contract/gen/quire/v1/assembly.js";
import { sha256 } from "../../domain/hash.js";
import { type SourcePosition, SourceState } from "../../domain/source.js";
import { type ModelTokens, sumOf } from "../../domain/token-units.js";
import { scaled, unscaled } from "../../models/token-scale.js";
import type { AskedSource } from "../../sources/asked-source.js";
import { mostTokens } from "../../sources/rules.js";
import type { SourceBlock } from "../../sources/source.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { sourceCandidate } from "../plan/candidates.js";
import { cutMarker, truncateText } from "../plan/strict.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import type { GatheredBlock, GatheredSource } from "./gathered.js";

type LimitInput = Pick<ResolvedContext, "scale" | "templates">;

/** What of an answer may be shown: not what another source says already, and no more than the source's own bounds allow. */
export async function limitAnswer(
  counter: TokenCounter,
  resolved: LimitInput,
  asked: AskedSource,
  suppressor: AskedSource | undefined,
  contextTokens: number,
): Promise<GatheredSource> {
  const { source, rules } = asked;
  const { blocks, isAllCovered, covered } = withoutCovered(asked, suppressor);
  const counted = await countBlocks(counter, resolved, source.name, blocks, rules.priority);
  const { kept, dropped } = await capBlocks(counter, resolved, asked, counted, contextTokens);
  const hidden = covered.length > 0 ? await countTexts(counter, resolved, covered) : [];
  const position = rules.position;
  const candidate = (title: string, tokens: number, rule: CandidateRule, detail = "") =>
    sourceCandidate(position, { name: blockName(source.name, title), tokens, kept: false, rule, detail });
  const state = isAllCovered ? SourceState.SUPPRESSED : asked.state;
  const share = isAllCovered ? "it" : "a part of it";
  const detail = covered.length > 0 ? `${rules.suppressedBy} covers ${share}` : asked.detail;
  const isMissing = state !== SourceState.OK && state !== SourceState.EMPTY && !isAllCovered;
  return {
    asked,
    report: {
      name: source.name,
      state,
      detail,
      blocks: asked.answer.blocks.length,
      tokens: sumOf(counted, ({ tokens }) => tokens),
      elapsedUs: asked.elapsedUs,
      cached: asked.isCached,
      position,
    },
    blocks: kept,
    dropped: [
      ...(isMissing ? [candidate("", 0, CandidateRule.SOURCE_FAILED, detail)] : []),
      ...covered.map(({ title }, index) =>
        candidate(title, hidden[index]!, CandidateRule.SUPPRESSED, detail),
      ),
      ...dropped.map(({ title, tokens }) => candidate(title, tokens, CandidateRule.SOURCE_CAP)),
    ],
    input: inputOf(source.name, asked.answer.blocks),
  };
}

export function blockName(source: string, title: string): string {
  return title === "" ? `source ${source}` : `source ${source}: ${title}`;
}

/** Entities are the same whatever their case and the spaces around them. */
export function entityKey(entity: string): string {
  return entity.trim().toLowerCase();
}

interface Unsaid {
  readonly blocks: readonly SourceBlock[];
  readonly isAllCovered: boolean;
  /** What was left out, by the titles of its blocks. */
  readonly covered: readonly Covered[];
}

interface Covered {
  readonly title: string;
  readonly text: string;
}

function withoutCovered({ answer }: AskedSource, suppressor: AskedSource | undefined): Unsaid {
  const { blocks } = answer;
  const covering = (suppressor?.answer.blocks ?? []).flatMap(({ entities }) => entities.map(entityKey));
  if (blocks.length === 0 || covering.length === 0) return { blocks, isAllCovered: false, covered: [] };
  const keys = new Set(covering);
  const left = blocks.map((block) => uncovered(block, keys));
  return {
    blocks: left.filter((block) => block !== undefined),
    isAllCovered: left.every((block) => block === undefined),
    covered: blocks.flatMap((block, index) => {
      const kept = left[index];
      if (kept === block) return [];
      const lines = (block.lines ?? []).filter(({ entity }) => keys.has(entityKey(entity)));
      const text = kept ? lines.map((line) => line.text).join("\n") : framed(block);
      return [{ title: block.title, text }];
    }),
  };
}

/** What is left of a block; undefined where nothing is. */
function uncovered(block: SourceBlock, covered: ReadonlySet<string>): SourceBlock | undefined {
  const { lines, entities, content } = block;
  if (!lines) {
    const isCovered = entities.length > 0 && entities.every((entity) => covered.has(entityKey(entity)));
    return isCovered ? undefined : block;
  }
  const left = lines.filter(({ entity }) => !covered.has(entityKey(entity)));
  if (left.length === lines.length) return block;
  if (left.length === 0) return undefined;
  const texts = (some: typeof lines) => some.map(({ text }) => `\n${text}`).join("");
  const heading = content.slice(0, content.length - texts(lines).length);
  return {
    ...block,
    lines: left,
    content: heading + texts(left),
    entities: left.map(({ entity }) => entity),
  };
}

async function countBlocks(
  counter: TokenCounter,
  { scale }: LimitInput,
  source: string,
  blocks: readonly SourceBlock[],
  priority: number,
): Promise<GatheredBlock[]> {
  if (blocks.length === 0) return [];
  const texts = blocks.map(framed);
  const counts = await counter.countAll(texts, scale.vocabulary);
  return blocks.map((block, index) => ({
    source,
    title: block.title,
    text: texts[index]!,
    content: block.content,
    frame: block.frame,
    isWhole: block.isWhole ?? false,
    messages: block.messages ?? [],
    tokens: scaled(scale, counts[index]!),
    priority: block.priority ?? priority,
    detail: block.detail ?? "",
  }));
}

async function countTexts(
  counter: TokenCounter,
  { scale }: LimitInput,
  covered: readonly Covered[],
): Promise<readonly ModelTokens[]> {
  const counts = await counter.countAll(
    covered.map(({ text }) => text),
    scale.vocabulary,
  );
  return counts.map((count) => scaled(scale, count));
}

function framed({ content, frame }: Pick<SourceBlock, "content" | "frame">): string {
  return frame ? `${frame.open}${content}${frame.close}` : content;
}

interface Capped {
  readonly kept: readonly GatheredBlock[];
  readonly dropped: readonly GatheredBlock[];
}

/** The first blocks that are within the source's bounds. The one that is not is cut, if it is text and enough of it is left; those after it are left out. */
async function capBlocks(
  counter: TokenCounter,
  resolved: LimitInput,
  { rules }: AskedSource,
  blocks: readonly GatheredBlock[],
  contextTokens: number,
): Promise<Capped> {
  const kept: GatheredBlock[] = [];
  let tokens: number = mostTokens(rules, contextTokens);
  let chars = rules.maxChars;
  for (const [index, gathered] of blocks.entries()) {
    const isWhole = gathered.tokens <= tokens && gathered.text.length <= chars;
    if (index < rules.maxItems && isWhole) {
      kept.push(gathered);
      tokens -= gathered.tokens;
      chars -= gathered.text.length;
      continue;
    }
    const cut =
      index < rules.maxItems && gathered.messages.length === 0 && !gathered.isWhole
        ? await cutBlock(counter, resolved, gathered, tokens, chars)
        : undefined;
    if (cut) kept.push({ ...cut, detail: withDetail(gathered, "cut to its source's bounds") });
    return { kept, dropped: blocks.slice(cut ? index + 1 : index) };
  }
  return { kept, dropped: [] };
}

/** Less than this is not worth the lines around it. */
const leastTokens = 16;

/** The beginning of a block, marked as cut, within so many tokens and characters; undefined where too little of it is left. */
export async function cutBlock(
  counter: TokenCounter,
  resolved: LimitInput,
  block: GatheredBlock,
  tokens: number,
  chars = Number.POSITIVE_INFINITY,
): Promise<GatheredBlock | undefined> {
  const { scale } = resolved;
  const { content, frame } = block;
  const around = frame ? frame.open.length + frame.close.length : 0;
  const mark = cutMarker(resolved);
  const most = chars - around - mark.length;
  if (most <= 0 || tokens < leastTokens) return undefined;
  const aroundTokens = frame ? await counter.countAll([frame.open, frame.close], scale.vocabulary) : [];
  const room = aroundTokens.reduce(
    (left, each) => left - each,
    unscaled(scale, tokens as ModelTokens) as number,
  );
  const cut = await truncateText(counter, content.slice(0, most), room, scale.vocabulary, mark);
  if (cut.length <= mark.length) return undefined;
  const text = framed({ content: cut, frame });
  const cost = scaled(scale, await counter.count(text, scale.vocabulary));
  return cost <= tokens ? { ...block, content: cut, text, tokens: cost } : undefined;
}

/** What is said of a block, and one thing more. */
export function withDetail({ detail }: GatheredBlock, more: string): string {
  return detail === "" ? more : `${detail}; ${more}`;
}

function inputOf(name: string, blocks: readonly SourceBlock[]): InputHash | undefined {
  if (blocks.length === 0) return undefined;
  const said = blocks.map(({ title, content, messages }) => [title, content, messages ?? []]);
  return { kind: InputKind.SOURCE, name, version: 0, hash: sha256(Buffer.from(JSON.stringify(said))) };
}

export function keptCandidate(
  position: SourcePosition,
  block: GatheredBlock,
  kept: boolean,
  rule: CandidateRule,
): ContextCandidate {
  const { source, title, tokens, detail } = block;
  return sourceCandidate(position, { name: blockName(source, title), tokens, kept, rule, detail });
}
