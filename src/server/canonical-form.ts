import type { DescField, DescMessage, DescOneof } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { isSetByServer } from "./set-by-server.js";
import { zeroOf } from "./validation/engine/zero-of.js";

type Fields = Readonly<Record<string, unknown>>;
/** A message as it is compared: a copy where something in it is changed. */
type CanonicalForm = (message: Fields) => Fields;
type ValueForm = (value: never) => unknown;

const forms = new Map<string, CanonicalForm | undefined>();
const compiling = new Set<string>();

/**
 * How messages of a type are compared: maps in the order of their keys, and without what only the server sets, so that a
 * request counts as the same from any client library. Undefined where a message is compared as it is.
 */
export function canonicalForm(message: DescMessage): CanonicalForm | undefined {
  const { typeName } = message;
  if (forms.has(typeName)) return forms.get(typeName);
  if (compiling.has(typeName)) throw new Error(`${typeName} holds itself: it has no canonical form`);
  compiling.add(typeName);
  const form = compile(message);
  compiling.delete(typeName);
  forms.set(typeName, form);
  return form;
}

function compile({ members }: DescMessage): CanonicalForm | undefined {
  const cleared: Record<string, unknown> = {};
  const changes: (readonly [name: string, form: ValueForm])[] = [];
  for (const member of members) {
    if (member.kind === "field" && isSetByServer(member)) {
      cleared[member.localName] = unset(member);
      continue;
    }
    const form = member.kind === "oneof" ? oneofForm(member) : fieldForm(member);
    if (form) changes.push([member.localName, form]);
  }
  if (changes.length === 0 && Object.keys(cleared).length === 0) return undefined;
  return (message) => {
    const canonical: Record<string, unknown> = { ...message, ...cleared };
    for (const [name, form] of changes) {
      const value = message[name];
      if (value !== undefined) canonical[name] = form(value as never);
    }
    return canonical;
  };
}

/** What a field holds when nothing was sent. */
function unset(field: DescField): unknown {
  switch (field.fieldKind) {
    case "list":
      return [];
    case "map":
      return {};
    case "message":
      return undefined;
    default:
      return field.presence === FeatureSet_FieldPresence.EXPLICIT ? undefined : zeroOf(field);
  }
}

function fieldForm(field: DescField): ValueForm | undefined {
  const form = field.message && canonicalForm(field.message);
  switch (field.fieldKind) {
    case "map":
      return (map: Fields) => sorted(map, form);
    case "list":
      return form && ((list: readonly Fields[]) => list.map(form));
    default:
      return form;
  }
}

interface Chosen {
  readonly $case: string;
  readonly value: never;
}

function oneofForm({ fields }: DescOneof): ValueForm | undefined {
  const chosenForms = new Map<string, ValueForm>();
  for (const field of fields) {
    const form = fieldForm(field);
    if (form) chosenForms.set(field.localName, form);
  }
  if (chosenForms.size === 0) return undefined;
  return (chosen: Chosen) => {
    const form = chosenForms.get(chosen.$case);
    return form ? { ...chosen, value: form(chosen.value) } : chosen;
  };
}

function sorted(map: Fields, form: CanonicalForm | undefined): Fields {
  const entries = Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(form ? entries.map(([key, value]) => [key, form(value as Fields)]) : entries);
}
