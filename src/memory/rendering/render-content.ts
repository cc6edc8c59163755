import {
  type BlockSchema,
  type FieldSchema,
  FieldType,
  type Json,
  type LogSchema,
} from "../../domain/memory.js";
import type { SectionContent } from "../document/content.js";
import { defaultDisplayLimit, isComposite, type Section, sectionsOf } from "../schema/sections.js";

const readOnlyMark = " [read-only]";

/** A block's content as a model reads it, without the frame around it. */
export function renderContent(schema: BlockSchema, contents: readonly SectionContent[]): string {
  const sections = sectionsOf(schema);
  const texts = sections.map((section, index) => renderSection(section, contents[index]!));
  if (!isComposite(schema)) return texts[0] ?? "";
  return sections
    .flatMap(({ name, readOnly }, index) => {
      const head = `=== ${name}${readOnly ? readOnlyMark : ""} ===`;
      return texts[index] === "" ? [head] : [head, unlikeHeads(texts[index]!)];
    })
    .join("\n\n");
}

/** How many characters count against a block's limit: a text counts whole, whatever its viewport shows. */
export function countedChars(rendered: string, contents: readonly SectionContent[]): number {
  const isPlainText = contents.length === 1 && contents[0]!.kind === "text";
  if (isPlainText) return characters((contents[0] as { readonly text: string }).text);
  const hidden = contents.reduce(
    (sum, content) => sum + (content.kind === "text" ? characters(content.text) : 0),
    0,
  );
  return Math.max(characters(rendered), hidden);
}

/** Characters as people count them: a pair of surrogates is one. */
function characters(text: string): number {
  let count = text.length;
  // Nothing but ASCII, as most texts are.
  if (Buffer.byteLength(text) === count) return count;
  for (let at = 0; at < text.length; at++) if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) count--;
  return count;
}

/** A line of a section cannot pass for the head of another one. */
function unlikeHeads(text: string): string {
  return text.replace(/^(?==== .* ===\s*$)/gm, "\\");
}

function renderSection({ schema }: Section, content: SectionContent): string {
  if (content.kind === "text") {
    const { viewport } = schema.value as { readonly viewport?: { startLine: number; displayLines: number } };
    return viewport ? throughViewport(content.text, viewport) : content.text;
  }
  if (content.kind === "map")
    return renderFields((schema.value as { fields: FieldSchema[] }).fields, content.fields);
  if (content.kind === "list") {
    const { item } = schema.value as { readonly item?: { readonly fields: readonly FieldSchema[] } };
    return content.items.map((value, index) => renderItem(value, index, item?.fields ?? [])).join("\n");
  }
  return renderLog(schema.value as LogSchema, content.entries);
}

function throughViewport(
  text: string,
  { startLine, displayLines }: { readonly startLine: number; readonly displayLines: number },
): string {
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  if (startLine > lines.length) {
    return `[Viewport: lines ${startLine}-${startLine + displayLines - 1} of ${lines.length} (past end of content)]`;
  }
  const end = Math.min(startLine - 1 + displayLines, lines.length);
  const shown = lines.slice(startLine - 1, end).join("\n");
  return `[Showing lines ${startLine}-${end} of ${lines.length}]\n${shown}`;
}

function renderFields(fields: readonly FieldSchema[], values: ReadonlyMap<string, Json>): string {
  return fields
    .flatMap(({ name, type, readOnly }) => {
      const value = values.get(name);
      if (value === undefined) return [];
      const head = `${name}${readOnly ? readOnlyMark : ""}:`;
      if (type !== FieldType.LIST) return [`${head} ${indented(shown(value))}`];
      return [head, ...(value as Json[]).map((entry) => `- ${indented(shown(entry))}`)];
    })
    .join("\n");
}

/** With a box to tick where the item can be done, else with its number. */
function renderItem(value: Json, index: number, fields: readonly FieldSchema[]): string {
  const done = isRecord(value) && typeof value.done === "boolean" ? value.done : undefined;
  const mark = done === undefined ? `${index + 1}.` : done ? "[x]" : "[ ]";
  return `${mark} ${indented(shownRecord(value, fields, done === undefined ? [] : ["done"]))}`;
}

/** Newest first, as many as are shown. */
function renderLog({ displayLimit, fields, agent }: LogSchema, entries: readonly Json[]): string {
  const newest = entries.slice(-(displayLimit || defaultDisplayLimit)).reverse();
  return newest
    .map((entry) => {
      if (!isRecord(entry)) return indented(shown(entry));
      const time = typeof entry.timestamp === "string" ? [`[${oneLine(entry.timestamp)}]`] : [];
      const author = agent && typeof entry.agent === "string" ? [`(${oneLine(entry.agent)})`] : [];
      const hidden = [...(time.length > 0 ? ["timestamp"] : []), ...(author.length > 0 ? ["agent"] : [])];
      const rest =
        fields.length > 0
          ? fields
              .filter(
                ({ name }) => !hidden.includes(name) && Object.hasOwn(entry, name) && entry[name] !== null,
              )
              .map(({ name }) => shown(entry[name]!))
              .join(" ")
          : shownRecord(entry, [], hidden);
      return [...time, ...author, indented(rest)].filter((part) => part !== "").join(" ");
    })
    .join("\n");
}

/** An object that has only one field to show is that field's value. */
function shownRecord(value: Json, fields: readonly FieldSchema[], hidden: readonly string[]): string {
  if (!isRecord(value)) return shown(value);
  const known = fields.map(({ name }) => name).filter((name) => Object.hasOwn(value, name));
  const others = Object.keys(value)
    .filter((key) => !known.includes(key))
    .sort();
  const keys = [...known, ...others].filter((key) => !hidden.includes(key) && value[key] !== null);
  const [only] = keys;
  if (keys.length === 1) return shown(value[only!]!);
  return keys.map((key) => `${key}: ${shown(value[key]!)}`).join(", ");
}

function shown(value: Json): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  if (!isRecord(value)) return String(value);
  const pairs = Object.keys(value)
    .sort()
    .map((key) => `${key}: ${shown(value[key]!)}`);
  return `{${pairs.join(", ")}}`;
}

function isRecord(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Lines after the first are set in, so that none of them passes for a field or an item of its own. */
function indented(text: string): string {
  return text.replace(/\r\n|\r|\n/g, "\n  ");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
