import { fill, type PromptTexts } from "../../domain/prompt-texts.js";
import { SeriesKind } from "../../domain/source-item.js";
import type { ObservationRow } from "../../storage/source/rows.js";
import { oneLine } from "../quoted.js";
import { plainRules, type SourceRules } from "../rules.js";
import { emptyAnswer } from "../source.js";
import type { BuiltIn } from "./builtin.js";
import { signedPercent, withUnit } from "./percent.js";

const hourUs = 3_600_000_000n;

/** Values that change, each with where it is going: the newest against the oldest of the window before it. */
export const temporalInsights: BuiltIn = {
  name: "temporal_insights",
  kinds: [SeriesKind.VALUE],
  defaults: {
    ...plainRules,
    order: 40,
    priority: 70,
    maxItems: 12,
    maxTokens: 384,
    thresholds: { stable_percent: 2, window_hours: 24 },
  },
  async answer(known, of, view, rules) {
    const { texts } = view;
    const nowUs = BigInt(view.nowMs) * 1000n;
    const series = await known.series(of, SeriesKind.VALUE);
    const alive = [...series].flatMap(([name, values]) => {
      const seen = values.filter(({ observedUs }) => observedUs <= nowUs);
      const newest = seen.at(-1);
      const isOver = !newest || (newest.expiresUs !== null && newest.expiresUs <= nowUs);
      return isOver ? [] : [{ name, values: seen, newest }];
    });
    // Those that changed last, if there are too many; by name, as people look for them.
    const shown = alive
      .sort((a, b) => Number(b.newest.observedUs - a.newest.observedUs) || (a.name < b.name ? -1 : 1))
      .slice(0, rules.maxItems)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    if (shown.length === 0) return emptyAnswer;
    const lines = shown.map(({ name, values, newest }) => ({
      entity: name,
      text: valueLine(texts, rules, name, values, newest),
    }));
    const content = [texts["source-temporal-insights"], ...lines.map(({ text }) => text)].join("\n");
    const entities = shown.map(({ name }) => name);
    return { blocks: [{ title: "temporal insights", content, entities, lines }] };
  },
};

function valueLine(
  texts: PromptTexts,
  { thresholds }: SourceRules,
  name: string,
  values: readonly ObservationRow[],
  newest: ObservationRow,
): string {
  const value = oneLine(newest.display) || withUnit(newest.value, oneLine(newest.unit));
  const facts = { name: oneLine(name), value };
  const sinceUs = newest.observedUs - BigInt(Math.round(thresholds.window_hours!)) * hourUs;
  const oldest = values.find(({ observedUs }) => observedUs >= sinceUs)!;
  if (oldest === newest || oldest.value === 0) return fill(texts["source-value-alone"], facts);
  const change = (newest.value - oldest.value) / Math.abs(oldest.value);
  const isStable = Math.abs(change) * 100 < thresholds.stable_percent!;
  const trend = isStable ? "source-stable" : change > 0 ? "source-rising" : "source-falling";
  return fill(texts["source-value"], { ...facts, trend: texts[trend], change: signedPercent(change) });
}
