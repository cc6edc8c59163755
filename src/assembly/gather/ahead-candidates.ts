import { CandidateRule, type ContextCandidate } from "../../contract/gen/quire/v1/assembly.js";
import { SourcePosition } from "../../domain/source.js";
import type { SystemStage } from "../system/system.js";
import { type GatheredSource, sourceSection } from "./gathered.js";
import { keptCandidate, withDetail } from "./limit-answer.js";

/** What is said of the blocks before history, for the receipt. A strict lane that is too small for all has no examples, and may have cut sections. */
export function aheadCandidates(
  sources: readonly GatheredSource[],
  system: SystemStage,
): readonly ContextCandidate[] {
  const isCut = system.candidates.some(({ rule }) => rule === CandidateRule.LANE);
  return sources
    .filter(({ asked }) => asked.rules.position !== SourcePosition.CURRENT)
    .flatMap((source) => [
      ...(source.asked.rules.position === SourcePosition.SYSTEM && isCut
        ? sectionCandidates(source, system)
        : wholeCandidates(source, system)),
      ...source.dropped,
    ]);
}

function wholeCandidates({ asked, blocks }: GatheredSource, { lead }: SystemStage): ContextCandidate[] {
  const { position } = asked.rules;
  const isKept = position === SourcePosition.SYSTEM || lead.messages.length > 0;
  const rule = isKept ? CandidateRule.NEVER_CUT : CandidateRule.LANE;
  return blocks.map((block) => keptCandidate(position, block, isKept, rule));
}

/** The blocks of a section that the lane may have cut: those that begin before its end are there, the last of them in part. */
function sectionCandidates(
  { asked, blocks }: GatheredSource,
  { sections, bytes }: SystemStage,
): ContextCandidate[] {
  const { position } = asked.rules;
  const section = sections.find(({ name }) => name === sourceSection(asked.source.name));
  const shown = section ? bytes.toString("utf8", section.offset, section.offset + section.length) : "";
  let start = 0;
  return blocks.map((block) => {
    const isWhole = shown.includes(block.text);
    const common = isWhole ? block.text.length : commonStart(shown.slice(start), block.text);
    start += block.text.length + 2;
    const isCut = common > 0 && common < block.text.length;
    const detail = isCut ? withDetail(block, "truncated") : block.detail;
    return keptCandidate(position, { ...block, detail }, common > 0, CandidateRule.LANE);
  });
}

function commonStart(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return at;
}
