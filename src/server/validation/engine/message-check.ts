import type { DescMessage, DescOneof } from "@bufbuild/protobuf";
import { isRequiredOneof } from "../../../contract/rules.js";
import { Checker } from "../checker.js";
import { further } from "../further/further.js";
import { type FieldCheck, fieldCheck, type MessageCheck } from "./field-check.js";

const compiled = new Map<string, MessageCheck | undefined>();

/**
 * A check for all messages of a type: the rules that the contract states for their fields, then what rules cannot say. It throws
 * one error with all that it finds.
 */
export function checked(type: DescMessage): (message: object) => void {
  const check = compile(type) ?? (() => undefined);
  return (message) => {
    const checker = new Checker();
    check(checker, message as Readonly<Record<string, unknown>>);
    checker.done();
  };
}

function compile(message: DescMessage): MessageCheck | undefined {
  if (compiled.has(message.typeName)) return compiled.get(message.typeName);
  // A message that holds itself would need a check that follows it down: the contract has none.
  compiled.set(message.typeName, undefined);
  const steps = message.members.flatMap((member): readonly MessageCheck[] => {
    if (member.kind === "oneof") return oneofStep(member) ?? [];
    const check = fieldCheck(member, compile);
    const { localName } = member;
    return check ? [(checker, values) => check(checker, values[localName])] : [];
  });
  const more = message.file.proto.package === "quire.v1" ? further.get(message.name) : undefined;
  if (more) steps.push((checker, values) => more(checker, values as never));
  const check = steps.length === 0 ? undefined : inOrder(steps);
  compiled.set(message.typeName, check);
  return check;
}

function inOrder(steps: readonly MessageCheck[]): MessageCheck {
  const [only, ...others] = steps;
  if (only && others.length === 0) return only;
  return (checker, values) => {
    for (const step of steps) step(checker, values);
  };
}

type Chosen = { readonly $case: string; readonly value: unknown } | undefined;

function oneofStep(oneof: DescOneof): readonly MessageCheck[] | undefined {
  const { localName, name } = oneof;
  const isRequired = isRequiredOneof(oneof);
  const checks = new Map<string, FieldCheck>();
  for (const field of oneof.fields) {
    const check = fieldCheck(field, compile);
    if (check) checks.set(field.localName, check);
  }
  if (!isRequired && checks.size === 0) return undefined;
  const unset = `holds nothing: exactly one of ${oneof.fields.map((field) => field.name).join(", ")} must be set`;
  return [
    (checker, values) => {
      const chosen = values[localName] as Chosen;
      if (chosen) checks.get(chosen.$case)?.(checker, chosen.value);
      // An item of a list that holds nothing is itself what is wrong.
      else if (isRequired) checker.wrong(checker.isAtItem ? "" : name, unset);
    },
  ];
}
