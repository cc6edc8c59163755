import type { DescEnum, DescField } from "@bufbuild/protobuf";
import { type FieldRules, rulesOf, type ValueRules } from "../../../contract/rules.js";
import type { Checker } from "../checker.js";
import { boolCheck, bytesCheck, enumCheck, numberCheck, textCheck, type ValueCheck } from "./value-checks.js";
import { type SingleField, zeroOf } from "./zero-of.js";

/** A walk over one value of a message: the value may be absent. */
export type FieldCheck = (checker: Checker, value: unknown) => void;
/** The check of the messages of a type; undefined where nothing in them can be wrong. */
export type MessageCheck = (checker: Checker, message: Readonly<Record<string, unknown>>) => void;
type CheckOf = (message: NonNullable<DescField["message"]>) => MessageCheck | undefined;

const keyShown = 128;

/** How a field is checked; undefined where nothing about it can be wrong. */
export function fieldCheck(field: DescField, checkOf: CheckOf): FieldCheck | undefined {
  const rules = rulesOf(field);
  if (rules.ignore === "IGNORE_ALWAYS") return undefined;
  switch (field.fieldKind) {
    case "message":
      return messageField(field.name, rules, checkOf(field.message));
    case "list":
      return listField(field, rules, field.message && checkOf(field.message));
    case "map":
      return mapField(field, rules);
    default:
      return singleField(field, rules);
  }
}

function singleField(field: SingleField, rules: FieldRules): FieldCheck | undefined {
  const { name } = field;
  const check = valueCheck(rules, field);
  if (!check && !rules.required) return undefined;
  const zero = zeroOf(field);
  if (Buffer.isBuffer(zero) && (rules.required || rules.ignore))
    throw new Error(`${field.parent.typeName}.${name}: what bytes may be is said by min_len`);
  const mayBeZero = rules.ignore === "IGNORE_IF_ZERO_VALUE";
  // Most fields of a request are left out, and then are "" or 0: what that comes to is settled once.
  const problemOfZero = rules.required ? "is required" : mayBeZero ? undefined : check?.(zero as never);
  return (checker, value) => {
    if (value === undefined) {
      if (rules.required) checker.wrong(name, "is required");
      return;
    }
    const problem = value === zero ? problemOfZero : check?.(value as never);
    if (problem !== undefined) checker.wrong(name, problem);
  };
}

function messageField(
  name: string,
  rules: FieldRules,
  check: MessageCheck | undefined,
): FieldCheck | undefined {
  if (!check && !rules.required) return undefined;
  return (checker, value) => {
    if (value === undefined) {
      if (rules.required) checker.wrong(name, "is required");
      return;
    }
    if (!check) return;
    checker.enter(name);
    check(checker, value as Readonly<Record<string, unknown>>);
    checker.leave();
  };
}

function listField(
  field: DescField & { readonly fieldKind: "list" },
  { repeated = {} }: FieldRules,
  message: MessageCheck | undefined,
): FieldCheck | undefined {
  const { name } = field;
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, items = {} } = repeated;
  const item = valueCheck(items, field);
  if (!message && !item && minItems === 0 && maxItems === Number.POSITIVE_INFINITY) return undefined;
  const tooFew = `must have at least ${minItems}`;
  const tooMany = `has more than ${maxItems.toLocaleString("en")}`;
  return (checker, value) => {
    const list = value as readonly unknown[];
    if (list.length < minItems) checker.wrong(name, tooFew);
    if (list.length > maxItems) checker.wrong(name, tooMany);
    if (list.length === 0 || (!message && !item)) return;
    checker.enter(name);
    // What is beyond the bound tells nothing more, nor does what can no longer be reported.
    const last = Math.min(list.length, maxItems);
    for (let index = 0; index < last && !checker.isFull; index++) {
      if (message) {
        checker.enter(index);
        message(checker, list[index] as Readonly<Record<string, unknown>>);
        checker.leave();
      } else {
        const problem = item!(list[index] as never);
        if (problem === undefined) continue;
        checker.enter(index);
        checker.wrong("", problem);
        checker.leave();
      }
    }
    checker.leave();
  };
}

/** A map of texts: the contract has no other. */
function mapField(
  field: DescField & { readonly fieldKind: "map" },
  { map = {} }: FieldRules,
): FieldCheck | undefined {
  if (Object.keys(map).length === 0) return undefined;
  const { name } = field;
  const { maxPairs = Number.POSITIVE_INFINITY, keys = {}, values = {} } = map;
  const keyCheck = keys.string && textCheck(keys.string);
  const check = values.string && textCheck(values.string);
  const tooMany = `has more than ${maxPairs.toLocaleString("en")}`;
  return (checker, value) => {
    const pairs = Object.entries(value as Readonly<Record<string, string>>);
    if (pairs.length > maxPairs) checker.wrong(name, tooMany);
    for (const [key, entry] of pairs.slice(0, maxPairs)) {
      const keyProblem = keyCheck?.(key);
      if (keyProblem !== undefined) checker.wrong(`${name} key`, keyProblem);
      const problem = check?.(entry);
      if (problem !== undefined) checker.wrong(`${name}["${key.slice(0, keyShown)}"]`, problem);
    }
  };
}

/** What a rule of this kind of value comes to; undefined where there is none. */
function valueCheck(
  rules: ValueRules,
  field: { readonly enum?: DescEnum | undefined },
): ValueCheck<never> | undefined {
  if (rules.string) return textCheck(rules.string);
  if (rules.bytes) return bytesCheck(rules.bytes);
  if (rules.bool?.const !== undefined) return boolCheck(rules.bool.const);
  if (rules.enum && field.enum) return enumCheck(rules.enum, field.enum);
  if (rules.double) return numberCheck(rules.double, { isWhole: false, least: Number.NEGATIVE_INFINITY });
  if (rules.int32) return numberCheck(rules.int32, { isWhole: true, least: -(2 ** 31) });
  const unsigned = rules.uint32 ?? rules.uint64;
  return unsigned && numberCheck(unsigned, { isWhole: true, least: 0 });
}
