import { fill } from "../../domain/prompt-texts.js";
import { SourcePosition } from "../../domain/source.js";
import { SourceItemKind } from "../../domain/source-item.js";
import { quoted } from "../quoted.js";
import { plainRules } from "../rules.js";
import type { BuiltIn } from "./builtin.js";

/** Examples of questions and answers: messages before history, or a block where the rules put them elsewhere. */
export const fewShots: BuiltIn = {
  name: "few_shots",
  kinds: [SourceItemKind.FEW_SHOT],
  defaults: {
    ...plainRules,
    position: SourcePosition.BEFORE_HISTORY,
    order: 80,
    priority: 80,
    maxItems: 15,
    maxTokens: 4_096,
    maxChars: 65_536,
  },
  async answer(known, of, { texts, nowMs }, { maxItems }) {
    const all = [...(await known.items(of, SourceItemKind.FEW_SHOT, "fewShot", nowMs))];
    const chosen = all.sort((a, b) => a.order - b.order || (a.key < b.key ? -1 : 1)).slice(0, maxItems);
    return {
      blocks: chosen.map(({ key, user, assistant }, index) => {
        const example = fill(texts["source-few-shot"], { user: quoted(user), assistant: quoted(assistant) });
        return {
          title: key,
          content: index === 0 ? `${texts["source-few-shots"]}\n${example}` : example,
          entities: [],
          messages: [
            { role: "user", text: user },
            { role: "assistant", text: assistant },
          ],
        };
      }),
    };
  },
};
