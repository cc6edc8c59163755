import { fill } from "../../domain/prompt-texts.js";
import { SeriesKind } from "../../domain/source-item.js";
import { oneLine } from "../quoted.js";
import { plainRules } from "../rules.js";
import { emptyAnswer } from "../source.js";
import type { BuiltIn } from "./builtin.js";

/** How sure the agent may be, by domain: the mean of how its last answers there turned out. */
export const epistemicState: BuiltIn = {
  name: "epistemic_state",
  kinds: [SeriesKind.DOMAIN],
  defaults: {
    ...plainRules,
    order: 30,
    priority: 55,
    maxItems: 12,
    maxTokens: 256,
    thresholds: { high: 0.8, medium: 0.5, min_outcomes: 3, window: 50 },
  },
  async answer(known, of, { texts }, rules) {
    const { high, medium, min_outcomes: least, window } = rules.thresholds;
    const series = await known.series(of, SeriesKind.DOMAIN);
    const domains = [...series]
      .map(([name, values]) => ({ name, values: values.slice(-window!) }))
      .filter(({ values }) => values.length >= least!)
      .map(({ name, values }) => ({
        name,
        confidence: values.reduce((sum, { value }) => sum + value, 0) / values.length,
      }))
      .sort((a, b) => b.confidence - a.confidence || (a.name < b.name ? -1 : 1))
      .slice(0, rules.maxItems);
    const line = (text: string, from: number, below: number) => {
      const within = domains.filter(({ confidence }) => confidence >= from && confidence < below);
      if (within.length === 0) return [];
      const shown = within.map(({ name, confidence }) =>
        fill(texts["source-domain"], { name: oneLine(name), confidence: confidence.toFixed(2) }),
      );
      return [fill(text, { domains: shown.join(", ") })];
    };
    const lines = [
      ...line(texts["source-high-confidence"], high!, Number.POSITIVE_INFINITY),
      ...line(texts["source-medium-confidence"], medium!, high!),
      ...line(texts["source-low-confidence"], Number.NEGATIVE_INFINITY, medium!),
    ];
    if (lines.length === 0) return emptyAnswer;
    const content = [texts["source-epistemic-state"], ...lines].join("\n");
    return { blocks: [{ title: "epistemic state", content, entities: [] }] };
  },
};
