import { type BodyProblems, isBase64 } from "../body-problems.js";
import { isObject, type JsonObject } from "../schema-dialect.js";

/** What can be in a part: one of these, under either of its two spellings. */
const dataFields: ReadonlyMap<string, string> = new Map([
  ["text", "text"],
  ["inlineData", "inlineData"],
  ["inline_data", "inlineData"],
  ["fileData", "fileData"],
  ["file_data", "fileData"],
  ["functionCall", "functionCall"],
  ["function_call", "functionCall"],
  ["functionResponse", "functionResponse"],
  ["function_response", "functionResponse"],
  ["executableCode", "executableCode"],
  ["executable_code", "executableCode"],
  ["codeExecutionResult", "codeExecutionResult"],
  ["code_execution_result", "codeExecutionResult"],
  ["toolCall", "toolCall"],
  ["tool_call", "toolCall"],
  ["toolResponse", "toolResponse"],
  ["tool_response", "toolResponse"],
]);
const besideData: ReadonlySet<string> = new Set([
  "thought",
  "thoughtSignature",
  "thought_signature",
  "videoMetadata",
  "video_metadata",
  "mediaResolution",
  "media_resolution",
  "mediaProcessing",
  "partMetadata",
  "part_metadata",
  "speechMetadata",
]);
const modelOnly: ReadonlySet<string> = new Set([
  "functionCall",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
]);
const functionName = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/;

/** A field under either of its spellings: the API takes both. */
export function fieldOf(value: JsonObject, name: string): unknown {
  return value[name] ?? value[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

export function isFunctionName(name: unknown): boolean {
  return typeof name === "string" && functionName.test(name);
}

/** Signatures are bytes: base64, in either alphabet. */
export function isSignature(signature: unknown): signature is string {
  return typeof signature === "string" && /^[A-Za-z0-9+/_-]+={0,2}$/.test(signature);
}

/** Names with a slash in the middle, which is all that the API can know before it reads the bytes. */
function isMimeType(type: unknown): boolean {
  return typeof type === "string" && /^[a-z]+\/[a-z0-9.+-]+$/.test(type);
}

/** The rules for one part, without those about its neighbours. */
export function checkPart(problems: BodyProblems, part: unknown, path: string, role: "user" | "model"): void {
  if (!isObject(part)) {
    problems.add("part_invalid", path, "a part is an object");
    return;
  }
  const kinds: string[] = [];
  for (const key of Object.keys(part)) {
    const kind = dataFields.get(key);
    if (kind !== undefined) kinds.push(kind);
    else problems.check(besideData.has(key), "unknown_field", `${path}.${key}`, `a part has no field ${key}`);
  }
  const signature = fieldOf(part, "thoughtSignature");
  const isSigned = signature === undefined || isSignature(signature);
  problems.check(isSigned, "thought_signature_invalid", path, "a thought signature is base64");
  const [kind] = kinds;
  if (kind === undefined) {
    problems.add(
      "part_empty",
      path,
      "a part must have one of text, inlineData, fileData, functionCall and so on",
    );
    return;
  }
  problems.check(
    kinds.length === 1,
    "part_ambiguous",
    path,
    `a part has one kind of data, not ${kinds.join(", ")}`,
  );
  const isInPlace = role === "model" ? kind !== "functionResponse" : !modelOnly.has(kind);
  problems.check(isInPlace, "part_not_allowed", path, `a ${kind} part cannot be in ${role} content`);
  if (kind === "text") {
    const isText = typeof part.text === "string" && (part.text !== "" || signature !== undefined);
    problems.check(isText, "empty_text", path, "text must not be empty, unless it carries a signature");
    return;
  }
  checkers[kind]?.(problems, fieldOf(part, kind), `${path}.${kind}`);
}

const checkers: Readonly<Record<string, (problems: BodyProblems, data: unknown, path: string) => void>> = {
  inlineData: checkInline,
  fileData(problems, data, path) {
    const uri = isObject(data) ? fieldOf(data, "fileUri") : undefined;
    const hasUri = typeof uri === "string" && uri !== "";
    problems.check(hasUri, "file_uri_missing", path, "file data needs its fileUri");
    const isFetched = !hasUri || /^(gs|https):/i.test(uri);
    problems.check(isFetched, "file_uri_scheme", path, "a fileUri begins with gs: or https:");
    const type = isObject(data) ? fieldOf(data, "mimeType") : undefined;
    problems.check(isMimeType(type), "mime_type_invalid", path, "file data needs a mimeType");
  },
  functionCall(problems, data, path) {
    if (!problems.check(isObject(data), "function_call_invalid", path, "a function call is an object"))
      return;
    const { name, args } = data as JsonObject;
    problems.check(isFunctionName(name), "function_name_invalid", `${path}.name`, nameMessage);
    const isArguments = args === undefined || isObject(args);
    problems.check(isArguments, "function_args_not_object", `${path}.args`, "arguments must be an object");
  },
  functionResponse(problems, data, path) {
    if (!problems.check(isObject(data), "function_response_invalid", path, "a response is an object")) return;
    const { name, response, parts } = data as JsonObject;
    problems.check(isFunctionName(name), "function_name_invalid", `${path}.name`, nameMessage);
    const isStruct = isObject(response);
    problems.check(
      isStruct,
      "function_response_not_object",
      `${path}.response`,
      "a response must be an object",
    );
    if (!Array.isArray(parts)) return;
    parts.forEach((part: unknown, at) => {
      const inline = isObject(part) ? fieldOf(part, "inlineData") : undefined;
      checkInline(problems, inline, `${path}.parts[${at}].inlineData`);
    });
  },
};

export const nameMessage =
  "names begin with a letter or _, then letters, digits, _, ., : and -, at most 128 characters";

function checkInline(problems: BodyProblems, data: unknown, path: string): void {
  const type = isObject(data) ? fieldOf(data, "mimeType") : undefined;
  problems.check(isMimeType(type), "mime_type_invalid", path, "inline data needs a mimeType");
  const isEncoded = isObject(data) && isBase64(data.data);
  problems.check(isEncoded, "base64_invalid", `${path}.data`, "the data must be base64");
}
