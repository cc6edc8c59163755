import { behavioralRules } from "./behavioral-rules.js";
import type { BuiltIn } from "./builtin.js";
import { epistemicState } from "./epistemic-state.js";
import { fewShots } from "./few-shots.js";
import { inbox } from "./inbox.js";
import { knowledgeGraph } from "./knowledge-graph.js";
import { procedures } from "./procedures.js";
import { selfModel } from "./self-model.js";
import { skillGuides, skills } from "./skills.js";
import { temporalInsights } from "./temporal-insights.js";
import { worldModel } from "./world-model.js";

/** Every source that is part of the server and that is written through SourceService. */
export const builtIns: readonly BuiltIn[] = [
  knowledgeGraph,
  selfModel,
  epistemicState,
  temporalInsights,
  worldModel,
  procedures,
  behavioralRules,
  fewShots,
  skills,
  skillGuides,
  inbox,
];
