import { expect } from "vitest";
import { changedLines } from "../../src/assembly/prefix/changed-lines.js";
import { updateOf } from "../../src/assembly/prefix/section-update.js";
import { AssembledContext, ToolsLayer } from "../../src/contract/gen/quire/v1/assembly.js";
import { PrefixPolicy } from "../../src/contract/gen/quire/v1/context_settings.js";
import { Message } from "../../src/contract/gen/quire/v1/message.js";
import { type ContextChange, ContextChangeKind } from "../../src/contract/gen/quire/v1/prompt_cache.js";
import { defaultPromptTexts } from "../../src/domain/prompt-texts.js";
import type { PartialContext } from "./agent.js";
import type { SentContext, WarmDesk } from "./warm-desk.js";

/** The layers of a context as encoded: tools, system prompt, history and current message. */
export function layersOf({ tools, system, history, current }: SentContext): Buffer[] {
  return [
    Buffer.from(ToolsLayer.encode(ToolsLayer.create({ tools: tools.tools })).finish()),
    Buffer.from(system.text),
    Buffer.from(AssembledContext.encode(AssembledContext.create({ history: [...history] })).finish()),
    current ? Buffer.from(Message.encode(current).finish()) : Buffer.alloc(0),
  ];
}

/** What a context says of the one before it, held against the bytes of both. Gives what it names as the difference. */
export function checkDifference(before: SentContext, now: SentContext): ContextChange | undefined {
  const { prefix } = now;
  const { difference } = prefix;
  const named = JSON.stringify(difference);
  expect(prefix.previousAssemblyId).toBe(before.completed.assemblyId);
  // The current message is new each time, and history may go on: neither is a difference.
  const { at, differs } = firstDifference(layersOf(before).slice(0, 3), layersOf(now).slice(0, 3));
  expect(difference !== undefined, `differs: ${differs}, named: ${named}`).toBe(differs);
  expect(prefix.firstDifference, named).toBe(at);
  if (difference?.kind === ContextChangeKind.SECTION)
    expect(sectionsOf(before).get(difference.detail)).not.toBe(sectionsOf(now).get(difference.detail));
  return difference;
}

function firstDifference(before: readonly Buffer[], now: readonly Buffer[]) {
  let bytes = 0;
  for (const [layer, a] of before.entries()) {
    const b = now[layer]!;
    let at = 0;
    while (at < a.length && a[at] === b[at]) at++;
    const isLast = layer === before.length - 1;
    if (at < a.length || (!isLast && a.length < b.length)) return { at: bytes + at, differs: true };
    bytes += a.length;
  }
  return { at: bytes, differs: false };
}

export function sectionsOf({ system }: SentContext): Map<string, string> {
  const bytes = Buffer.from(system.text);
  return new Map(
    system.sections.map(({ name, offset, length }) => [
      name,
      bytes.toString("utf8", offset, offset + length),
    ]),
  );
}

const anUpdate = /\[System prompt update(?:: ([^\]\n]+))?\]\n[\s\S]*?\n\[End of update\]/g;

/** The last update of each section that the context tells of, in history or now. */
function toldBy({ history, current }: SentContext): Map<string, string> {
  const told = new Map<string, string>();
  for (const { contextParts } of [...history, ...(current ? [current] : [])]) {
    for (const { content } of contextParts) {
      const text = content?.$case === "text" ? content.value.text : "";
      for (const [update, section] of text.matchAll(anUpdate)) {
        if (section === undefined) told.clear();
        else told.set(section, update);
      }
    }
  }
  return told;
}

/** A model that reads the system prompt and then every update in order knows what each section says now. */
export async function checkKnowledge(
  desk: WarmDesk,
  sent: SentContext,
  context: PartialContext,
): Promise<void> {
  const settings = { ...context.settings, prefix: PrefixPolicy.LIVE };
  const live = sectionsOf(await desk.assemble({ ...context, settings, dryRun: true }));
  const prompt = sectionsOf(sent);
  const told = toldBy(sent);
  for (const section of new Set([...live.keys(), ...prompt.keys(), ...told.keys()])) {
    const [was, is] = [prompt.get(section) ?? "", live.get(section) ?? ""];
    const update = told.get(section);
    if (update === undefined) expect(was, `nobody tells of ${section}`).toBe(is);
    else {
      const change = { before: was, now: is };
      expect(update).toBe(updateOf(defaultPromptTexts, section, change, changedLines(change)).text);
    }
  }
}
