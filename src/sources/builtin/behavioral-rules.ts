import { fill } from "../../domain/prompt-texts.js";
import { SourcePosition } from "../../domain/source.js";
import { SourceItemKind } from "../../domain/source-item.js";
import { oneLine } from "../quoted.js";
import { plainRules } from "../rules.js";
import { emptyAnswer } from "../source.js";
import type { BuiltIn } from "./builtin.js";

/** Rules that were learned. They seldom change, so they stand in the system prompt. */
export const behavioralRules: BuiltIn = {
  name: "behavioral_rules",
  kinds: [SourceItemKind.RULE],
  defaults: {
    ...plainRules,
    position: SourcePosition.SYSTEM,
    order: 70,
    priority: 90,
    maxItems: 20,
    maxTokens: 768,
  },
  async answer(known, of, { texts, nowMs }, { maxItems }) {
    const all = [...(await known.items(of, SourceItemKind.RULE, "rule", nowMs))];
    if (all.length === 0) return emptyAnswer;
    const lines = all
      .sort((a, b) => b.priority - a.priority || (a.key < b.key ? -1 : 1))
      .slice(0, maxItems)
      .map(({ text }) => fill(texts["source-rule"], { text: oneLine(text) }));
    const content = [texts["source-behavioral-rules"], ...lines].join("\n");
    return { blocks: [{ title: "behavioral rules", content, entities: [] }] };
  },
};
