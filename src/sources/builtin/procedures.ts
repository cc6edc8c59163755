import { fill } from "../../domain/prompt-texts.js";
import { SourceItemKind } from "../../domain/source-item.js";
import { oneLine, quoted } from "../quoted.js";
import { plainRules } from "../rules.js";
import { emptyAnswer } from "../source.js";
import type { BuiltIn } from "./builtin.js";
import { rankByTerms } from "./terms.js";

/** The procedures that are most relevant to the event. */
export const procedures: BuiltIn = {
  name: "procedures",
  kinds: [SourceItemKind.PROCEDURE],
  defaults: { ...plainRules, order: 60, priority: 50, maxItems: 3, maxTokens: 1_024 },
  async answer(known, of, { texts, nowMs, eventText, task }, rules) {
    const all = await known.items(of, SourceItemKind.PROCEDURE, "procedure", nowMs);
    const question = task === "" ? eventText : `${task}\n${eventText}`;
    const best = rankByTerms(question, all, ({ title, steps }) => ({ title, body: steps })).slice(
      0,
      rules.maxItems,
    );
    if (best.length === 0) return emptyAnswer;
    const shown = best.map(({ item: { title, steps } }) =>
      fill(texts["source-procedure"], { title: oneLine(title), steps: quoted(steps).trim() }),
    );
    const content = [texts["source-procedures"], ...shown].join("\n");
    return { blocks: [{ title: "procedures", content, entities: [] }] };
  },
};
