import { decodeImportBlobMeta, type LoroDoc, type OpId, type PeerID, type VersionVector } from "loro-crdt";
import { type FieldSchema, FieldType, type Json, type PlainSchema } from "../../domain/memory.js";
import type { MergedDocument } from "../document/block-document.js";
import { readSection, type SectionContent, sortedKeys } from "../document/content.js";
import {
  counterRoot,
  entriesRoot,
  fieldsRoot,
  itemsRoot,
  listFieldRoot,
  textRoot,
} from "../document/roots.js";
import { decodeSchema } from "../memory-codec.js";
import type { Right } from "../permissions.js";
import { fieldProblem, recordProblem, shapeProblem } from "../schema/check-value.js";
import { defaultMaxItems, type Section, sectionsOf } from "../schema/sections.js";
import { type DocumentCopy, type DocumentState, freeCopy, keepCopy, takeCopy } from "./document-copies.js";

export interface UpdateToCheck {
  /** Which block, and where it stands. */
  readonly base: DocumentState;
  readonly update: Uint8Array;
  /** The block's schema in wire form. */
  readonly schema: Uint8Array;
  /** The peers that the caller may write under. */
  readonly peers: readonly string[];
  readonly right: Right;
  readonly isSystem: boolean;
  readonly author: string;
}

export type CheckedUpdate =
  /** `merged`: the document with the update, where it would take the event loop too long to merge it. */
  | { readonly kind: "fine"; readonly newOps: number; readonly merged: MergedDocument | undefined }
  /** The document is not open here as it is stored. */
  | { readonly kind: "not open" }
  /** `isHarmed`: the library failed on it, and this thread with it. */
  | { readonly kind: "refused"; readonly why: string; readonly isHarmed: boolean }
  | {
      readonly kind: "not allowed";
      readonly needs: Right;
      readonly section?: string;
      readonly field?: string;
    };

const mostOps = 20_000;
/** So many operations, the update's own and those that it was made without, are merged on the event loop: each takes up to 40 us, whatever its length. */
const mostMerged = 500;
/** Of so many characters and values it is not asked how many operations they are. */
const mostLookedAt = 20_000;
const mostChanges = 10_000;
const childMark = "🦜:cid:";

class Refusal extends Error {
  constructor(readonly verdict: CheckedUpdate) {
    super("refused");
  }
}

/**
 * Looks at an update of a client before anybody uses it, in a thread of its own: into a copy of the document. Every operation is looked
 * at before anything is read from the copy as a whole. The copy stays open if the update is fine, since it will be stored then.
 */
export function checkUpdate(input: UpdateToCheck): CheckedUpdate {
  let copy: DocumentCopy | undefined;
  let verdict: CheckedUpdate | undefined;
  try {
    const meta = readMeta(input.update);
    if (meta.mode !== "update") return refusal(`it is a ${meta.mode}, not an update`);
    if (meta.changeNum > mostChanges) return refusal(`it has more than ${mostChanges} changes`);
    copy = takeCopy(input.base, [...meta.partialEndVersionVector.toJSON().keys()]);
    if (!copy) return { kind: "not open" };
    verdict = checkOn(copy, input);
    return verdict;
  } catch (error) {
    if (error instanceof Refusal) return error.verdict;
    return { kind: "refused", why: "it cannot be read", isHarmed: true };
  } finally {
    if (copy && verdict?.kind === "fine") keepCopy(copy);
    else if (copy) freeCopy(copy);
  }
}

function checkOn(copy: DocumentCopy, input: UpdateToCheck): CheckedUpdate {
  const { doc } = copy;
  const sections = sectionsOf(decodeSchema(input.schema));
  const before = sections.map((section) => readSection(doc, section));
  const known = doc.version();
  const { success, pending } = importInto(doc, input.update);
  if (pending) return refusal("it needs changes that the block does not have");
  const spans = success as unknown as ReadonlyMap<string, Span>;
  let newOps = 0;
  for (const [peer, { start, end }] of spans) {
    if (!input.peers.includes(peer)) return refusal(`it writes as peer ${peer}, which is not the caller's`);
    newOps += end - start;
    if (newOps > mostOps) return refusal(`it has more than ${mostOps} operations`);
  }
  let merging = 0;
  for (const [peer, { start, end }] of spans) {
    const span = { peer: peer as PeerID, counter: start, length: end - start };
    const changes = doc.exportJsonInIdSpan(span);
    for (const { ops } of changes) {
      for (const op of ops) checkOp(input, sections, op as unknown as Op);
      merging += ops.length;
    }
    merging += opsWithout(doc, known, changes[0]?.deps ?? []);
  }
  // Nothing is nested by now, and all is of the schema: it can be read.
  sections.forEach((section, index) => {
    checkResult(input, section, before[index]!, readSection(doc, section));
  });
  const isLong = merging > mostMerged;
  // What is stored must be the block and this update, and nothing else.
  if (isLong && copy.aheadPeers.size > 0) return { kind: "not open" };
  for (const peer of spans.keys()) copy.aheadPeers.add(peer);
  const merged = isLong ? { snapshot: doc.export({ mode: "snapshot" }), known: known.encode() } : undefined;
  return { kind: "fine", newOps, merged };
}

/** How many operations of a document its author did not have who wrote after these; many, where it is many characters and values. */
function opsWithout(doc: LoroDoc, known: VersionVector, deps: readonly string[]): number {
  const had = doc.frontiersToVV(deps.map(idOf)).toJSON();
  const spans = [...known.toJSON()]
    .map(([peer, end]) => ({ peer, counter: had.get(peer) ?? 0, end }))
    .map(({ peer, counter, end }) => ({ peer, counter, length: end - counter }))
    .filter(({ length }) => length > 0);
  const values = spans.reduce((sum, { length }) => sum + length, 0);
  if (values > mostLookedAt) return values;
  const changes = spans.flatMap((span) => doc.exportJsonInIdSpan(span));
  return changes.reduce((sum, { ops }) => sum + ops.length, 0);
}

/** An operation's id as JSON has it: its counter, and its peer. */
function idOf(id: string): OpId {
  const [counter, peer] = id.split("@");
  return { counter: Number(counter), peer: peer as PeerID };
}

interface Span {
  readonly start: number;
  readonly end: number;
}

interface Op {
  readonly container: string;
  readonly content: {
    readonly type: string;
    readonly key?: string;
    readonly value?: Json;
    readonly value_type?: string;
  };
}

function refusal(why: string): CheckedUpdate {
  return { kind: "refused", why, isHarmed: false };
}

function refuse(why: string): never {
  throw new Refusal(refusal(why));
}

function readMeta(update: Uint8Array) {
  return orRefuse("it is no Loro update", () => decodeImportBlobMeta(update, true));
}

function importInto(doc: LoroDoc, update: Uint8Array) {
  return orRefuse("it cannot be imported", () => doc.import(update));
}

/** The library throws texts for what it can tell is wrong, and errors where it fails itself. */
function orRefuse<T>(why: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (typeof error === "string") return refuse(why);
    throw error;
  }
}

function checkOp(input: UpdateToCheck, sections: readonly Section[], { container, content }: Op): void {
  for (const section of sections) {
    const check = rootsOf(section).get(container);
    if (!check) continue;
    if (section.readOnly && !input.isSystem)
      throw new Refusal({ kind: "not allowed", needs: "write", section: section.name });
    check(input, content);
    return;
  }
  refuse(`it writes to ${JSON.stringify(container.slice(0, 200))}, which the schema does not have`);
}

type Content = Op["content"];
type Check = (input: UpdateToCheck, content: Content) => void;

const rights: readonly Right[] = ["none", "append", "write", "admin"];

function need({ right }: UpdateToCheck, needs: Right): void {
  if (rights.indexOf(right) < rights.indexOf(needs)) throw new Refusal({ kind: "not allowed", needs });
}

const kept = new WeakMap<Section, ReadonlyMap<string, Check>>();

/** The containers of a section, by their ids, and what is checked of operations on them. */
function rootsOf(section: Section): ReadonlyMap<string, Check> {
  let roots = kept.get(section);
  if (!roots) {
    roots = new Map(checksOf(section, section.schema));
    kept.set(section, roots);
  }
  return roots;
}

function checksOf(section: Section, schema: PlainSchema): readonly (readonly [string, Check])[] {
  const id = (name: string, kind: string) => `cid:root-${name}:${kind}`;
  switch (schema.$case) {
    case "text":
      return [[id(textRoot(section), "Text"), only({ insert: "append", delete: "write" })]];
    case "list": {
      const types = { insert: "append", delete: "write", move: "write", set: "write" } as const;
      const fields = schema.value.item?.fields ?? [];
      return [[id(itemsRoot(section), "MovableList"), only(types, (value) => recordProblem(fields, value))]];
    }
    case "log": {
      const { fields, agent } = schema.value;
      const check: Check = (input, content) => {
        const problem = (value: Json) =>
          recordProblem(fields, value, ["timestamp", "agent"]) ??
          (agent ? authorProblem(value, input.author) : undefined);
        only({ insert: "append" }, problem)(input, content);
      };
      return [[id(entriesRoot(section), "List"), check]];
    }
    case "map":
      return [
        [id(fieldsRoot(section), "Map"), onFields(schema.value.fields)],
        ...schema.value.fields.flatMap((field) => {
          const types = { insert: "append", delete: "write" } as const;
          if (field.type === FieldType.LIST)
            return [[id(listFieldRoot(section, field.name), "List"), writable(field, only(types))] as const];
          if (field.type !== FieldType.COUNTER) return [];
          return [[id(counterRoot(section, field.name), "Counter"), writable(field, onCounter)] as const];
        }),
      ];
  }
}

/** An entry says who wrote it, where the schema asks for that: it must be who did. */
function authorProblem(value: Json, author: string): string | undefined {
  const agent =
    typeof value === "object" && value !== null ? (value as { readonly agent?: Json }).agent : undefined;
  return agent === author ? undefined : `must have "agent": ${JSON.stringify(author)}`;
}

/** Operations of these types alone, each with the right that it needs, and values that are in order. */
function only(
  types: Readonly<Record<string, Right>>,
  problemOf: (value: Json) => string | undefined = () => undefined,
): Check {
  return (input, { type, value }) => {
    if (!Object.hasOwn(types, type))
      refuse(`it does ${JSON.stringify(type)}, which the schema does not have`);
    need(input, types[type]!);
    if (value === undefined) return;
    for (const one of type === "insert" && Array.isArray(value) ? value : [value]) checkValue(one, problemOf);
  };
}

function checkValue(value: Json, problemOf: (value: Json) => string | undefined): void {
  if (typeof value === "string" && value.startsWith(childMark))
    refuse("it makes a container inside another one");
  const problem = shapeProblem(value) ?? problemOf(value);
  if (problem !== undefined) refuse(`it has a value that ${problem}`);
}

function onFields(fields: readonly FieldSchema[]): Check {
  return (input, { type, key = "", value = null }) => {
    const field = fields.find(({ name }) => name === key);
    if (!field || field.type === FieldType.LIST || field.type === FieldType.COUNTER)
      return refuse(
        `it writes to the field ${JSON.stringify(key.slice(0, 200))}, which the schema does not have`,
      );
    if (type !== "insert" && type !== "delete") refuse(`it does ${JSON.stringify(type)} to a field`);
    writable(field, () => undefined)(input, { type });
    need(input, "write");
    checkValue(type === "delete" ? null : value, (given) => fieldProblem(field, given));
  };
}

function writable(field: FieldSchema, check: Check): Check {
  return (input, content) => {
    if (field.readOnly && !input.isSystem)
      throw new Refusal({ kind: "not allowed", needs: "write", field: field.name });
    check(input, content);
  };
}

const onCounter: Check = (input, { type, value }) => {
  if (type !== "counter" || typeof value !== "number" || !Number.isFinite(value) || Math.abs(value) > 1e12)
    refuse("it counts by what is no number");
  need(input, "write");
};

/** Who may only add must have left what was there as it was, and before what is new. A log is only ever added to. */
function checkResult(
  input: UpdateToCheck,
  section: Section,
  before: SectionContent,
  after: SectionContent,
): void {
  if (after.kind === "list") {
    const { maxItems } = section.schema.value as { readonly maxItems: number };
    const max = maxItems || defaultMaxItems;
    if (after.items.length > max && after.items.length > (before as typeof after).items.length)
      refuse(`the list would have more than ${max} items`);
  }
  if (after.kind !== "log" && input.right !== "append") return;
  if (startsWith(before, after)) return;
  if (after.kind === "log") refuse("it adds entries before others: a log is added to at its end");
  throw new Refusal({ kind: "not allowed", needs: "write" });
}

function startsWith(before: SectionContent, after: SectionContent): boolean {
  if (before.kind === "text") return (after as typeof before).text.startsWith(before.text);
  if (before.kind !== "map") {
    const [was, is] = [itemsOf(before), itemsOf(after)];
    return was.every((item, index) => isSame(item, is[index]));
  }
  return [...before.fields].every(([name, value]) => {
    const now = (after as typeof before).fields.get(name);
    if (!Array.isArray(value)) return isSame(value, now);
    return value.every((item, index) => isSame(item, (now as readonly Json[] | undefined)?.[index]));
  });
}

function itemsOf(content: SectionContent): readonly Json[] {
  return content.kind === "list" ? content.items : content.kind === "log" ? content.entries : [];
}

function isSame(a: Json, b: Json | undefined): boolean {
  return b !== undefined && JSON.stringify(sortedKeys(a)) === JSON.stringify(sortedKeys(b));
}
