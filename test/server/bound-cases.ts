import { create, type DescField, type DescMessage, ScalarType, toBinary } from "@bufbuild/protobuf";
import { isRequiredOneof, rulesOf, type ValueRules } from "../../src/contract/rules.js";

/** A request with one value out of its bounds, and the path that the refusal must name. */
export interface BoundCase {
  readonly rule: string;
  readonly path: string;
  request(): Buffer;
}

type Init = Readonly<Record<string, unknown>>;
/** Puts a message to where it stands in a request. */
type Wrap = (init: Init) => Init;

/** A case for each rule of a request and of what is in it. Messages whose types were seen before are passed over. */
export function boundCases(request: DescMessage, seen: Set<string>): readonly BoundCase[] {
  const cases: BoundCase[] = [];
  const add = (rule: string, path: string, wrap: Wrap, init: () => Init) =>
    cases.push({
      rule,
      path,
      request: () => Buffer.from(toBinary(request, create(request, wrap(init()) as never))),
    });

  const visit = (message: DescMessage, path: string, wrap: Wrap): void => {
    if (seen.has(message.typeName)) return;
    seen.add(message.typeName);
    for (const oneof of message.oneofs) {
      const isItem = path.endsWith("[0]");
      if (isRequiredOneof(oneof)) add("required", isItem ? path : under(path, oneof.name), wrap, () => ({}));
    }
    for (const field of message.fields) visitField(field, under(path, field.name), wrap);
  };

  const visitField = (field: DescField, path: string, wrap: Wrap): void => {
    const rules = rulesOf(field);
    if (rules.ignore === "IGNORE_ALWAYS") return;
    const set = (value: unknown): Init =>
      field.oneof
        ? { [field.oneof.localName]: { case: field.localName, value } }
        : { [field.localName]: value };
    if (rules.required) add("required", path, wrap, () => ({}));
    for (const [rule, value] of outOfBounds(rules)) add(rule, path, wrap, () => set(value()));
    const { repeated, map } = rules;
    if (repeated?.minItems) add("min_items", path, wrap, () => ({}));
    if (repeated?.maxItems !== undefined) {
      const length = repeated.maxItems + 1;
      add("max_items", path, wrap, () => set(Array.from({ length }, () => itemOf(field))));
    }
    for (const [rule, value] of outOfBounds(repeated?.items ?? {}))
      add(`items.${rule}`, `${path}[0]`, wrap, () => set([value()]));
    if (map?.maxPairs !== undefined) {
      const pairs = Array.from({ length: map.maxPairs + 1 }, (_, at) => [`k${at}`, ""]);
      add("max_pairs", path, wrap, () => set(Object.fromEntries(pairs)));
    }
    for (const [rule, key] of outOfBounds(map?.keys ?? {}))
      add(`keys.${rule}`, `${path} key`, wrap, () => set({ [key() as string]: "" }));
    for (const [rule, value] of outOfBounds(map?.values ?? {}))
      add(`values.${rule}`, `${path}["k"]`, wrap, () => set({ k: value() }));
    if (field.fieldKind === "message" && field.message.file.proto.package === "quire.v1")
      visit(field.message, path, (init) => wrap(set(init)));
    if (field.fieldKind === "list" && field.message)
      visit(field.message, `${path}[0]`, (init) => wrap(set([init])));
  };

  visit(request, "", (init) => init);
  return cases;
}

function under(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function itemOf(field: DescField): unknown {
  if (field.message) return {};
  return field.scalar === undefined || field.scalar === ScalarType.STRING ? (field.enum ? 1 : "x") : 1;
}

const wrongCharacter = new Map([
  ["^\\P{Cc}*$", "a\u0007b"],
  ["^[^\\x00]*$", "a\0b"],
  // Labels, their beginnings, and the names of fields and sections.
  ["^[\\p{L}\\p{N}_][\\p{L}\\p{N}_.-]*$", "a b"],
  ["^[\\p{L}\\p{N}_.-]*$", "a b"],
  ["^[0-9]+$", "-1"],
  ["^[\\p{L}\\p{N}_][\\p{L}\\p{N}_. -]*$", "a:b"],
  ["^([\\p{L}\\p{N}_][\\p{L}\\p{N}_. -]*)?$", "a:b"],
  // Names of sources.
  ["^[a-z][a-z0-9_-]*$", "A"],
  ["^([a-z][a-z0-9_-]*)?$", "A"],
]);

/** A value that breaks each rule, by the rule's name in the contract. */
function outOfBounds(rules: ValueRules): readonly (readonly [rule: string, value: () => unknown])[] {
  const { string: text, bytes, bool } = rules;
  const number = rules.double ?? rules.int32 ?? rules.uint32 ?? rules.uint64;
  // Of a large double, a small step is none.
  const { gte = 0, lte = 0 } = rules.double ?? {};
  const step = rules.double ? Math.max(0.001, Math.abs(gte) / 1e9, Math.abs(lte) / 1e9) : 1;
  const cases: (readonly [string, (() => unknown) | undefined])[] = [
    ["min_len", text?.minLen ? () => "x".repeat(text.minLen! - 1) : undefined],
    ["max_len", text?.maxLen !== undefined ? () => "\u{1F600}".repeat(text.maxLen! + 1) : undefined],
    ["max_bytes", text?.maxBytes !== undefined ? () => "x".repeat(text.maxBytes! + 1) : undefined],
    ["pattern", text?.pattern !== undefined ? () => wrongCharacter.get(text.pattern!)! : undefined],
    ["in", text?.in ? () => "nothing of these" : undefined],
    ["bytes.min_len", bytes?.minLen ? () => new Uint8Array(bytes.minLen! - 1) : undefined],
    ["bytes.max_len", bytes?.maxLen !== undefined ? () => new Uint8Array(bytes.maxLen! + 1) : undefined],
    ["bool.const", bool?.const !== undefined ? () => !bool.const : undefined],
    ["gte", number?.gte !== undefined ? () => number.gte! - step : undefined],
    ["lte", number?.lte !== undefined ? () => number.lte! + step : undefined],
    ["nan", rules.double ? () => Number.NaN : undefined],
    ["defined_only", rules.enum ? () => 9_999 : undefined],
    ...(rules.enum?.notIn ?? []).map((refused) => [`not_in ${refused}`, () => refused] as const),
  ];
  return cases.flatMap(([rule, value]) => (value ? [[rule, value] as const] : []));
}
