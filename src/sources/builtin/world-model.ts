import { fill } from "../../domain/prompt-texts.js";
import { SourceItemKind } from "../../domain/source-item.js";
import { oneLine } from "../quoted.js";
import { plainRules } from "../rules.js";
import { emptyAnswer } from "../source.js";
import type { BuiltIn } from "./builtin.js";

/** Facts about the world, the newest if there are too many; without those whose entities temporal insights have a value for. */
export const worldModel: BuiltIn = {
  name: "world_model",
  kinds: [SourceItemKind.FACT],
  defaults: {
    ...plainRules,
    order: 50,
    priority: 45,
    maxItems: 20,
    maxTokens: 512,
    suppressedBy: "temporal_insights",
  },
  async answer(known, of, { texts, nowMs }, rules) {
    const facts = [...(await known.items(of, SourceItemKind.FACT, "fact", nowMs))];
    if (facts.length === 0) return emptyAnswer;
    const lines = facts
      .sort((a, b) => b.updatedMs - a.updatedMs || (a.key < b.key ? -1 : 1))
      .slice(0, rules.maxItems)
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ entity, text }) => ({
        entity,
        text: fill(texts["source-fact"], { entity: oneLine(entity), text: oneLine(text) }),
      }));
    const content = [texts["source-world-model"], ...lines.map(({ text }) => text)].join("\n");
    return {
      blocks: [{ title: "world model", content, entities: lines.map(({ entity }) => entity), lines }],
    };
  },
};
