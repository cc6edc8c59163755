import { isDeepStrictEqual } from "node:util";
import type { InputHash, PromptSection, Receipt } from "../contract/gen/quire/v1/assembly.js";
import { type CompareReceiptsResponse, ContextLayer } from "../contract/gen/quire/v1/assembly_service.js";
import { Message } from "../contract/gen/quire/v1/message.js";
import { type ContextChange, ContextChangeKind } from "../contract/gen/quire/v1/prompt_cache.js";
import type { Tool } from "../contract/gen/quire/v1/workspace.js";
import { beginAlike } from "../thread/history-cut.js";
import { decodeMessages, encodeMessages } from "../thread/message-codec.js";
import type { ReceiptDeps } from "./deps.js";
import { type ReplayedContext, replayContext } from "./replay.js";

const layers = [ContextLayer.TOOLS, ContextLayer.SYSTEM, ContextLayer.HISTORY, ContextLayer.CURRENT] as const;

/** Where the second context first differs from the first one, and what caused it. */
export async function compareReceipts(
  deps: ReceiptDeps,
  tenantId: string,
  firstId: string,
  secondId: string,
): Promise<CompareReceiptsResponse> {
  const [first, second] = await Promise.all([
    replayContext(deps, tenantId, firstId),
    replayContext(deps, tenantId, secondId),
  ]);
  const a = layersOf(first);
  const b = layersOf(second);
  const changedInputs = changed(first.receipt, second.receipt);
  let before = 0;
  for (const [index, layer] of layers.entries()) {
    const at = firstDifference(a[index]!, b[index]!);
    if (at === undefined) {
      before += a[index]!.length;
      continue;
    }
    const historyIsExtended = layer === ContextLayer.HISTORY && at === a[index]!.length;
    return {
      equal: false,
      extends: historyIsExtended || layer === ContextLayer.CURRENT,
      firstDifference: before + at,
      layer,
      cause: causeOf(first, second, layer, at),
      changedInputs,
    };
  }
  return {
    equal: true,
    extends: true,
    firstDifference: before,
    layer: ContextLayer.UNSPECIFIED,
    cause: undefined,
    changedInputs,
  };
}

function layersOf(context: ReplayedContext): Buffer[] {
  const { currentMessage, systemPrompt, leadMessages } = context.rest;
  return [
    context.toolsWire,
    leadMessages.length === 0
      ? Buffer.from(systemPrompt)
      : Buffer.concat([Buffer.from(systemPrompt), encodeMessages(leadMessages).wire]),
    Buffer.concat(context.history),
    currentMessage ? Buffer.from(Message.encode(currentMessage).finish()) : Buffer.alloc(0),
  ];
}

/** So many bytes are compared at once, which is far faster than one by one. */
const blockBytes = 65_536;

/** The first byte that differs; undefined when none does. */
export function firstDifference(a: Buffer, b: Buffer): number | undefined {
  if (a.equals(b)) return undefined;
  const length = Math.min(a.length, b.length);
  const isSame = (from: number, to: number) => a.compare(b, from, to, from, to) === 0;
  let at = 0;
  while (at + blockBytes <= length && isSame(at, at + blockBytes)) at += blockBytes;
  while (at < length && a[at] === b[at]) at++;
  return at;
}

/** What makes a layer differ at a byte. */
function causeOf(
  first: ReplayedContext,
  second: ReplayedContext,
  layer: (typeof layers)[number],
  at: number,
): ContextChange {
  const change = (kind: ContextChangeKind, detail = "") => ({ kind, detail });
  if (layer === ContextLayer.TOOLS)
    return change(ContextChangeKind.TOOLS, changedTool(first.rest.tools, second.rest.tools));
  if (layer === ContextLayer.SYSTEM)
    return change(ContextChangeKind.SECTION, changedSection(sectionsOf(first), sectionsOf(second)));
  if (layer === ContextLayer.CURRENT) return change(ContextChangeKind.CURRENT_MESSAGE);
  if (!beginAlike(first.receipt.historyLayer!.cutId, second.receipt.historyLayer!.cutId))
    return change(ContextChangeKind.CUT);
  const turn = turnAt(second.history, at) ?? turnAt(first.history, at);
  return change(ContextChangeKind.TURN, turn);
}

/** The first section that is not the same in both: changed, added or taken away. */
export function changedSection(a: readonly SectionText[], b: readonly SectionText[]): string {
  const at = a.findIndex(
    (section, index) => section.name !== b[index]?.name || section.text !== b[index].text,
  );
  return nameToBlame(a.slice(at < 0 ? a.length : at), b.slice(at < 0 ? a.length : at));
}

function sectionsOf({ receipt, rest }: ReplayedContext): SectionText[] {
  return sectionTexts(Buffer.from(rest.systemPrompt), receipt.sections);
}

/** A section of a system prompt with what it says. */
export interface SectionText {
  readonly name: string;
  readonly text: string;
}

export function sectionTexts(prompt: Buffer, sections: readonly PromptSection[]): SectionText[] {
  return sections.map(({ name, offset, length }) => ({
    name,
    text: prompt.toString("utf8", offset, offset + length),
  }));
}

function changedTool(a: readonly Tool[], b: readonly Tool[]): string {
  const at = a.findIndex((tool, index) => !isDeepStrictEqual(tool, b[index]));
  return nameToBlame(a.slice(at < 0 ? a.length : at), b.slice(at < 0 ? a.length : at));
}

/** Of two lists whose first entries differ, the name that is to blame: the one that the other list does not have, else the second's. */
function nameToBlame(
  a: readonly { readonly name: string }[],
  b: readonly { readonly name: string }[],
): string {
  const [before, after] = [a[0]?.name, b[0]?.name];
  if (before !== undefined && !b.some((entry) => entry.name === before)) return before;
  return after ?? before ?? "";
}

/** The turn whose bytes are at a place of the history. */
export function turnAt(history: readonly Buffer[], at: number): string | undefined {
  let end = 0;
  const piece = history.find((bytes) => {
    end += bytes.length;
    return at < end;
  });
  return piece && decodeMessages(piece)[0]?.turnId;
}

function changed(first: Receipt, second: Receipt): InputHash[] {
  const key = (input: InputHash) => `${input.kind}/${input.name}`;
  const before = new Map(first.inputs.map((input) => [key(input), input]));
  const after = new Set(second.inputs.map(key));
  return [
    ...second.inputs.filter((input) => !before.get(key(input))?.hash.equals(input.hash)),
    ...first.inputs.filter((input) => !after.has(key(input))),
  ];
}
