import {
  BudgetLane,
  ConceptualLayer,
  type ContextCandidate,
  PhysicalLayer,
} from "../../contract/gen/quire/v1/assembly.js";

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

export function eventCandidate(facts: CandidateFacts): ContextCandidate {
  return {
    layer: ConceptualLayer.EVENT,
    physical: PhysicalLayer.CURRENT,
    lane: BudgetLane.BUFFER,
    detail: "",
    ...facts,
  };
}
