import { fill, type PromptTexts } from "../../domain/prompt-texts.js";
import { type KnowledgeEntity, SourceItemKind } from "../../domain/source-item.js";
import { oneLine } from "../quoted.js";
import { plainRules } from "../rules.js";
import { emptyAnswer } from "../source.js";
import type { BuiltIn } from "./builtin.js";
import type { KnownItem } from "./knowledge.js";

type Entity = KnownItem<"entity">;

/** What the event mentions, what is related to that, and how. */
export const knowledgeGraph: BuiltIn = {
  name: "knowledge_graph",
  kinds: [SourceItemKind.ENTITY, SourceItemKind.RELATION],
  defaults: { ...plainRules, order: 10, priority: 65, maxItems: 24, maxTokens: 768 },
  async answer(known, of, view, rules) {
    const { texts, nowMs } = view;
    const [entities, relations] = await Promise.all([
      known.items(of, SourceItemKind.ENTITY, "entity", nowMs),
      known.items(of, SourceItemKind.RELATION, "relation", nowMs),
    ]);
    // What only a relation names is known by its name alone.
    const named = new Map<string, Entity>();
    for (const entity of entities) named.set(nameKey(entity.name), entity);
    for (const { from, to, updatedMs } of relations)
      for (const name of [from, to])
        if (!named.has(nameKey(name)))
          named.set(nameKey(name), { key: name, name, type: "", aliases: [], description: "", updatedMs });
    const mentioned = mentionedIn(view.eventText, [...named.values()]);
    if (mentioned.length === 0) return emptyAnswer;
    const found = new Set(mentioned.map(({ name }) => nameKey(name)));
    const touching = relations.filter(({ from, to }) => found.has(nameKey(from)) || found.has(nameKey(to)));
    const near = new Set(touching.flatMap(({ from, to }) => [nameKey(from), nameKey(to)]));
    const neighbours = [...near].filter((key) => !found.has(key)).map((key) => named.get(key)!);
    const about = [...mentioned, ...neighbours].filter(
      (entity) => entity.type !== "" || entity.description !== "",
    );
    const lines = [
      ...about.map((entity) => entityLine(texts, entity)),
      ...touching.map(({ from, relation, to }) =>
        fill(texts["source-relation"], { from: oneLine(from), relation: oneLine(relation), to: oneLine(to) }),
      ),
    ].slice(0, rules.maxItems);
    if (lines.length === 0) return emptyAnswer;
    const content = [texts["source-knowledge-graph"], ...lines].join("\n");
    return { blocks: [{ title: "knowledge graph", content, entities: mentioned.map(({ name }) => name) }] };
  },
};

function entityLine(texts: PromptTexts, { name, type, description }: KnowledgeEntity): string {
  const facts = { name: oneLine(name), type: oneLine(type), description: oneLine(description) };
  if (facts.type === "") return fill(texts["source-entity-untyped"], facts);
  return fill(texts[facts.description === "" ? "source-entity-undescribed" : "source-entity"], facts);
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function nameKey(name: string): string {
  return wordsOf(name).join(" ") || name.toLowerCase();
}

/** The longest name that is looked for, in words. */
const maxWords = 8;
/** Of a long event the first words are looked at. */
const maxEventWords = 10_000;

/** The entities that a text mentions by name or alias, in the order of their first mention. Costs as much as the text is long, however many are known. */
function mentionedIn(text: string, entities: readonly Entity[]): Entity[] {
  const byName = new Map<string, Entity>();
  for (const entity of entities)
    for (const name of [...entity.aliases, entity.name]) byName.set(nameKey(name), entity);
  const words = wordsOf(text).slice(0, maxEventWords);
  const found = new Set<Entity>();
  for (let at = 0; at < words.length; at++) {
    let name = "";
    for (let end = at; end < Math.min(words.length, at + maxWords); end++) {
      name = end === at ? words[end]! : `${name} ${words[end]}`;
      const entity = byName.get(name);
      if (entity) found.add(entity);
    }
  }
  return [...found];
}
