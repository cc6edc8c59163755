import { type BodyProblems, wordOf } from "../body-problems.js";
import { isObject, type JsonObject } from "../schema-dialect.js";
import { checkPart, fieldOf } from "./parts.js";
import { WaitingCalls } from "./waiting-calls.js";

interface Content {
  readonly role: "user" | "model";
  readonly parts: readonly JsonObject[];
  readonly path: string;
}

/** The rules about contents: each on its own, and how they follow one another. */
export function checkContents(problems: BodyProblems, given: unknown, needsSignatures: boolean): void {
  if (!Array.isArray(given) || given.length === 0) {
    problems.add("contents_empty", "contents", "contents are needed");
    return;
  }
  const contents: Content[] = [];
  given.forEach((content: unknown, at) => {
    const read = readContent(problems, content, `contents[${at}]`);
    if (read !== undefined) contents.push(read);
  });
  if (contents.length !== given.length) return;
  const [first] = contents;
  const startsWithUser = first?.role === "user";
  problems.check(
    startsWithUser,
    "first_content_not_user",
    "contents[0]",
    "the conversation begins with the user",
  );
  const last = contents.at(-1)!;
  problems.check(last.role === "user", "ends_with_model", last.path, "the conversation ends with the user");
  contents.forEach((content, at) => {
    const previous = contents[at - 1];
    const alternates = previous?.role !== content.role;
    problems.check(alternates, "roles_do_not_alternate", content.path, "user and model take turns");
    if (content.role === "user") checkResponses(problems, content, previous);
    else checkAnswered(problems, content, contents[at + 1]);
  });
  if (needsSignatures) checkSignatures(problems, contents);
}

function readContent(problems: BodyProblems, content: unknown, path: string): Content | undefined {
  const role = isObject(content) ? (content.role ?? "user") : undefined;
  if (!isObject(content) || (role !== "user" && role !== "model")) {
    problems.add("role_unknown", `${path}.role`, "a role is user or model");
    return undefined;
  }
  const { parts } = content;
  if (!Array.isArray(parts) || parts.length === 0) {
    problems.add("parts_empty", `${path}.parts`, "a content must have at least one part");
    return undefined;
  }
  parts.forEach((part: unknown, at) => {
    checkPart(problems, part, `${path}.parts[${at}]`, role);
  });
  return { role, parts: parts.filter(isObject), path };
}

function dataOf({ parts }: Content, kind: "functionCall" | "functionResponse"): readonly JsonObject[] {
  return parts.map((part) => fieldOf(part, kind)).filter(isObject);
}

function checkAnswered(problems: BodyProblems, content: Content, next: Content | undefined): void {
  const calls = dataOf(content, "functionCall");
  if (calls.length === 0 || next === undefined) return;
  const responses = dataOf(next, "functionResponse");
  const message = `${calls.length} function calls have ${responses.length} responses directly after them`;
  problems.check(responses.length >= calls.length, "function_response_missing", content.path, message);
}

function checkResponses(problems: BodyProblems, content: Content, previous: Content | undefined): void {
  const responses = dataOf(content, "functionResponse");
  if (responses.length === 0) return;
  const calls = previous ? dataOf(previous, "functionCall") : [];
  if (calls.length === 0) {
    const message = "a function response comes directly after its function call";
    problems.add("function_response_unexpected", content.path, message);
    return;
  }
  if (responses.length > calls.length) {
    const message = `${responses.length} function responses answer ${calls.length} calls`;
    problems.add("function_response_too_many", content.path, message);
    return;
  }
  const waiting = new WaitingCalls(calls);
  for (const { id, name } of responses) {
    const isAwaited = waiting.answer(name, id);
    const message = `no call of ${wordOf(name)} awaits this response`;
    problems.check(isAwaited, "function_response_name", content.path, message);
  }
}

/** In the current turn, the first call of each step must be signed. */
function checkSignatures(problems: BodyProblems, contents: readonly Content[]): void {
  for (const content of [...contents].reverse()) {
    const isResponse = dataOf(content, "functionResponse").length === content.parts.length;
    if (content.role === "user" && !isResponse) return;
    const first = content.parts.find((part) => fieldOf(part, "functionCall") !== undefined);
    if (content.role === "user" || first === undefined) continue;
    const message = "function call is missing a thought_signature in functionCall parts";
    const isSigned = fieldOf(first, "thoughtSignature") !== undefined;
    problems.check(isSigned, "thought_signature_missing", content.path, message);
  }
}
