import {
  BudgetLane,
  ConceptualLayer,
  type ContextCandidate,
  PhysicalLayer,
} from "../../contract/gen/quire/v1/assembly.js";
import { SourcePosition } from "../../domain/source.js";

/** Short ways to say what could have gone into a context, for the receipt. */

type CandidateFacts = Pick<ContextCandidate, "name" | "tokens" | "kept" | "rule"> &
  Partial<Pick<ContextCandidate, "detail">>;

export function toolCandidate(facts: CandidateFacts): ContextCandidate {
  return {
    layer: ConceptualLayer.WORKSPACE,
    physical: PhysicalLayer.SYSTEM,
    lane: BudgetLane.TOOLS,
    detail: "",
    ...facts,
  };
}

export function sectionCandidate(layer: ConceptualLayer, facts: CandidateFacts): ContextCandidate {
  return { layer, physical: PhysicalLayer.SYSTEM, lane: BudgetLane.SYSTEM, detail: "", ...facts };
}

export function historyCandidate(facts: CandidateFacts): ContextCandidate {
  return {
    layer: ConceptualLayer.SESSION,
    physical: PhysicalLayer.HISTORY,
    lane: BudgetLane.HISTORY,
    detail: "",
    ...facts,
  };
}

/** A block of a source: counted as system prompt where it stands before history. */
export function sourceCandidate(position: SourcePosition, facts: CandidateFacts): ContextCandidate {
  const isCurrent = position === SourcePosition.CURRENT;
  return {
    layer: ConceptualLayer.MEMORY,
    physical: isCurrent ? PhysicalLayer.CURRENT : PhysicalLayer.SYSTEM,
    lane: isCurrent ? BudgetLane.MEMORY : BudgetLane.SYSTEM,
    detail: "",
    ...facts,
  };
}

export function eventCandidate(facts: CandidateFacts): ContextCandidate {
  return {
    layer: ConceptualLayer.EVENT,
    physical: PhysicalLayer.CURRENT,
    lane: BudgetLane.BUFFER,
    detail: "",
    ...facts,
  };
}
