import { fill, type PromptTexts } from "../../domain/prompt-texts.js";
import { SourcePosition } from "../../domain/source.js";
import { SourceItemKind } from "../../domain/source-item.js";
import { oneLine, quoted } from "../quoted.js";
import { plainRules } from "../rules.js";
import { emptyAnswer } from "../source.js";
import type { BuiltIn } from "./builtin.js";
import type { KnownItem } from "./knowledge.js";
import { termsOf } from "./terms.js";

type Skill = KnownItem<"skill">;

/** Which skills there are, in at most 1,200 characters. It seldom changes, so it stands in the system prompt. */
export const skills: BuiltIn = {
  name: "skills",
  kinds: [SourceItemKind.SKILL],
  defaults: {
    ...plainRules,
    position: SourcePosition.SYSTEM,
    order: 90,
    priority: 75,
    maxItems: 200,
    maxTokens: 1_024,
    maxChars: 1_200,
  },
  async answer(known, of, { texts, nowMs }, { maxItems, maxChars }) {
    const all = (await known.items(of, SourceItemKind.SKILL, "skill", nowMs)).slice(0, maxItems);
    if (all.length === 0) return emptyAnswer;
    let content = texts["source-skills"];
    let shown = 0;
    for (const skill of all) {
      const line = `\n${skillLine(texts, skill)}`;
      const left = all.length - shown - 1;
      const rest = left > 0 ? `\n${fill(texts["source-more-skills"], { count: String(left) })}` : "";
      if (content.length + line.length + rest.length > maxChars) break;
      content += line;
      shown++;
    }
    const hidden = all.length - shown;
    if (hidden > 0) content += `\n${fill(texts["source-more-skills"], { count: String(hidden) })}`;
    return {
      blocks: [{ title: "skills", content, entities: [] }],
      detail: hidden > 0 ? `${hidden} are not listed` : "",
    };
  },
};

function skillLine(texts: PromptTexts, { name, description }: Skill): string {
  const facts = { name: oneLine(name), description: oneLine(description) };
  return fill(texts[facts.description === "" ? "source-skill-bare" : "source-skill"], facts);
}

/** The guides of the skills that the event needs: those whose name or keywords it has. */
export const skillGuides: BuiltIn = {
  name: "skill_guides",
  kinds: [SourceItemKind.SKILL],
  defaults: { ...plainRules, order: 95, priority: 58, maxItems: 3, maxTokens: 2_048 },
  async answer(known, of, { texts, nowMs, eventText }, { maxItems }) {
    const all = await known.items(of, SourceItemKind.SKILL, "skill", nowMs);
    const words = new Set(termsOf(eventText));
    const needed = all
      .map((skill) => ({ skill, hits: hitsOf(skill, words) }))
      .filter(({ skill, hits }) => hits > 0 && skill.guide.trim() !== "")
      .sort((a, b) => b.hits - a.hits || (a.skill.key < b.skill.key ? -1 : 1))
      .slice(0, maxItems);
    return {
      blocks: needed.map(({ skill: { name, guide } }) => ({
        title: name,
        content: fill(texts["source-skill-guide"], { name: oneLine(name), guide: quoted(guide).trim() }),
        entities: [],
      })),
    };
  },
};

/** How many of a skill's names the event has; one of several words only with all of them. */
function hitsOf({ name, keywords }: Skill, words: ReadonlySet<string>): number {
  return [name, ...keywords].filter((each) => {
    const terms = termsOf(each.replaceAll("_", " "));
    const isWhole = words.has(each.toLowerCase());
    return isWhole || (terms.length > 0 && terms.every((term) => words.has(term)));
  }).length;
}
