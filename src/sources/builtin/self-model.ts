import { fill } from "../../domain/prompt-texts.js";
import { SeriesKind, SourceItemKind } from "../../domain/source-item.js";
import { oneLine } from "../quoted.js";
import { plainRules, type SourceRules } from "../rules.js";
import { emptyAnswer } from "../source.js";
import type { BuiltIn } from "./builtin.js";

/** How often something was tried, and how often it worked. */
interface Tried {
  readonly name: string;
  readonly count: number;
  readonly rate: number;
}

/** What the agent is good and bad at, from what its tools and tasks came to, and what its user prefers. */
export const selfModel: BuiltIn = {
  name: "self_model",
  kinds: [SourceItemKind.PREFERENCE, SourceItemKind.KNOWN_FAILURE, SeriesKind.SKILL],
  defaults: {
    ...plainRules,
    order: 20,
    priority: 60,
    maxItems: 8,
    maxTokens: 256,
    thresholds: { strength: 0.7, failure: 0.5, min_calls: 3 },
  },
  async answer(known, of, view, rules) {
    const { texts, nowMs } = view;
    const [counted, series, preferences, failures] = await Promise.all([
      known.outcomes(of, view),
      known.series(of, SeriesKind.SKILL),
      known.items(of, SourceItemKind.PREFERENCE, "preference", nowMs),
      known.items(of, SourceItemKind.KNOWN_FAILURE, "knownFailure", nowMs),
    ]);
    const observed = [...series].map(([name, values]) => ({
      name,
      count: values.length,
      rate: values.reduce((sum, { value }) => sum + value, 0) / values.length,
    }));
    const tools = counted.map(({ tool, calls, failures: failed }) => ({
      name: tool,
      count: calls,
      rate: (calls - failed) / calls,
    }));
    const tried = together([...tools, ...observed]);
    const percent = (rate: number) => String(Math.round(rate * 100));
    const strengths = enough(tried, rules)
      .filter(({ rate }) => rate >= rules.thresholds.strength!)
      .sort((a, b) => b.rate - a.rate || b.count - a.count || (a.name < b.name ? -1 : 1))
      .slice(0, rules.maxItems)
      .map(({ name, rate }) =>
        fill(texts["source-strength"], { name: oneLine(name), percent: percent(rate) }),
      );
    const said = failures.map(
      ({ name }) => tried.find((each) => each.name === name) ?? { name, count: 0, rate: 0 },
    );
    const found = enough(tried, rules).filter(({ rate }) => rate < rules.thresholds.failure!);
    const weak = [...said, ...found.filter(({ name }) => !failures.some((failure) => failure.name === name))]
      .slice(0, rules.maxItems)
      .map(({ name, count, rate }) =>
        count === 0
          ? oneLine(name)
          : fill(texts["source-failure"], { name: oneLine(name), percent: percent(rate) }),
      );
    const wishes = preferences.slice(0, rules.maxItems).map(({ text }) => oneLine(text));
    const join = (each: readonly string[]) => each.join(", ");
    const lines = [
      ...(strengths.length > 0 ? [fill(texts["source-strengths"], { skills: join(strengths) })] : []),
      ...(weak.length > 0 ? [fill(texts["source-failures"], { failures: join(weak) })] : []),
      ...(wishes.length > 0 ? [fill(texts["source-preferences"], { preferences: join(wishes) })] : []),
    ];
    if (lines.length === 0) return emptyAnswer;
    const content = [texts["source-self-model"], ...lines].join("\n");
    return { blocks: [{ title: "self-model", content, entities: [] }] };
  },
};

/** Few tries say little. */
function enough(tried: readonly Tried[], { thresholds }: SourceRules): Tried[] {
  return tried.filter(({ count }) => count >= thresholds.min_calls!);
}

/** What was both counted and observed is one. */
function together(all: readonly Tried[]): Tried[] {
  const byName = new Map<string, Tried>();
  for (const each of all) {
    const before = byName.get(each.name);
    const count = each.count + (before?.count ?? 0);
    const rate = (each.rate * each.count + (before ? before.rate * before.count : 0)) / count;
    byName.set(each.name, { name: each.name, count, rate });
  }
  return [...byName.values()];
}
