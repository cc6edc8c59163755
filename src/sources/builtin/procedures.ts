import { fill } from "../../domain/prompt-texts.js";
import { SourceItemKind } from "../../domain/source-item.js";
import { oneLine, quoted } from "../quoted.js";
import { plainRules } from "../rules.js";
import { emptyAnswer } from "../source.js";
import type { BuiltIn } from "./builtin.js";

/** The procedures that are most relevant to the event, as a search would rank them. */
export const procedures: BuiltIn = {
  name: "procedures",
  kinds: [SourceItemKind.PROCEDURE],
  defaults: { ...plainRules, order: 60, priority: 50, maxItems: 3, maxTokens: 1_024 },
  async answer(known, of, { texts, nowMs, eventText, task, recall }, rules) {
    const all = await known.items(of, SourceItemKind.PROCEDURE, "procedure", nowMs);
    const best = await known.rank({
      things: all,
      // What it is for counts for more than how it is done.
      textOf: ({ title, steps }) => `${title}\n${title}\n${steps}`,
      question: task === "" ? eventText : `${task}\n${eventText}`,
      nowMs,
      limit: rules.maxItems,
      threshold: recall.threshold,
    });
    if (best.length === 0) return emptyAnswer;
    const shown = best.map(({ title, steps }) =>
      fill(texts["source-procedure"], { title: oneLine(title), steps: quoted(steps).trim() }),
    );
    const content = [texts["source-procedures"], ...shown].join("\n");
    return { blocks: [{ title: "procedures", content, entities: [] }] };
  },
};
