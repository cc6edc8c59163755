import type { LoroDoc } from "loro-crdt";
import type { Json } from "../../domain/memory.js";
import type { Section } from "../schema/sections.js";
import { writeField } from "./apply-operation.js";
import { readSection, type SectionContent, sortedKeys } from "./content.js";
import { itemsRoot, textRoot } from "./roots.js";
import { setText } from "./set-text.js";

/** Whether two contents say the same. */
export function isSameContent(a: SectionContent, b: SectionContent): boolean {
  return canonical(a) === canonical(b);
}

function canonical(content: SectionContent): string {
  switch (content.kind) {
    case "text":
      return content.text;
    case "map":
      return JSON.stringify([...content.fields].map(([name, value]) => [name, sortedKeys(value)]).sort());
    case "list":
      return JSON.stringify(content.items.map(sortedKeys));
    case "log":
      return JSON.stringify(content.entries.map(sortedKeys));
  }
}

/** Makes a section hold something else. A log stays as it is: it is only added to. */
export function replaceContent(doc: LoroDoc, section: Section, content: SectionContent): void {
  const { schema } = section;
  if (schema.$case === "text" && content.kind === "text") {
    setText(doc.getText(textRoot(section)), content.text);
  } else if (schema.$case === "map" && content.kind === "map") {
    const now = readSection(doc, section) as { readonly fields: ReadonlyMap<string, Json> };
    for (const field of schema.value.fields) {
      const value = content.fields.get(field.name) ?? null;
      if (!isSame(now.fields.get(field.name) ?? null, value)) writeField(doc, section, field, value);
    }
  } else if (schema.$case === "list" && content.kind === "list") {
    replaceItems(doc, section, content.items);
  }
}

/** Items that both lists begin and end with stay the items that they are. */
function replaceItems(doc: LoroDoc, section: Section, items: readonly Json[]): void {
  const list = doc.getMovableList(itemsRoot(section));
  const now = list.toJSON() as Json[];
  const shorter = Math.min(now.length, items.length);
  let start = 0;
  while (start < shorter && isSame(now[start]!, items[start]!)) start++;
  let end = 0;
  while (end < shorter - start && isSame(now.at(-1 - end)!, items.at(-1 - end)!)) end++;
  if (now.length - end > start) list.delete(start, now.length - end - start);
  items.slice(start, items.length - end).forEach((item, index) => {
    list.insert(start + index, item);
  });
}

function isSame(a: Json, b: Json): boolean {
  return JSON.stringify(sortedKeys(a)) === JSON.stringify(sortedKeys(b));
}
