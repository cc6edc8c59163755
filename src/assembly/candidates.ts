import { type Candidate, ConceptualLayer, Lane, PhysicalLayer } from "../contract/gen/quire/v1/assembly.js";

/** Short ways to say what could have gone into a context, for the receipt. */

type CandidateFacts = Pick<Candidate, "name" | "tokens" | "kept" | "rule"> &
  Partial<Pick<Candidate, "detail">>;

export function toolCandidate(facts: CandidateFacts): Candidate {
  return {
    layer: ConceptualLayer.WORKSPACE,
    physical: PhysicalLayer.SYSTEM,
    lane: Lane.TOOLS,
    detail: "",
    ...facts,
  };
}

export function sectionCandidate(layer: ConceptualLayer, facts: CandidateFacts): Candidate {
  return { layer, physical: PhysicalLayer.SYSTEM, lane: Lane.SYSTEM, detail: "", ...facts };
}

export function historyCandidate(facts: CandidateFacts): Candidate {
  return {
    layer: ConceptualLayer.SESSION,
    physical: PhysicalLayer.HISTORY,
    lane: Lane.HISTORY,
    detail: "",
    ...facts,
  };
}

export function eventCandidate(facts: CandidateFacts): Candidate {
  return {
    layer: ConceptualLayer.EVENT,
    physical: PhysicalLayer.CURRENT,
    lane: Lane.BUFFER,
    detail: "",
    ...facts,
  };
}
