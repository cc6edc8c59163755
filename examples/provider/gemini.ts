import { type Api, type Json, onlyFields, Refused, require, signed, tokensOf } from "./provider.js";
import { Issued, type Said } from "./script.js";

const partFields = "text thought thoughtSignature functionCall functionResponse inlineData fileData";
/** What may stand in place of a signature on a call that another model made. */
const noSignature = "skip_thought_signature_validator";

/** generateContent, for a model that signs its calls. */
export function geminiApi(): Api {
  const issued = new Issued((part) =>
    part.thoughtSignature === noSignature ? undefined : part.thoughtSignature,
  );
  const signatures = new Set<string>();
  const api: Api = {
    name: "gemini",
    path: "/v1beta/models/gemini-4-argon:generateContent",
    paths: /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent)$/,
    check(body) {
      onlyFields(
        body,
        "contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent",
        "",
      );
      onlyFields(
        body.generationConfig ?? {},
        "maxOutputTokens temperature thinkingConfig stopSequences",
        "generationConfig",
      );
      for (const tool of body.tools ?? []) {
        onlyFields(tool, "functionDeclarations", "tools");
        for (const declared of tool.functionDeclarations) {
          onlyFields(declared, "name description parametersJsonSchema", "functionDeclarations");
          require(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(declared.name), "Invalid function name.");
        }
      }
      checkContents(body.contents, signatures);
      for (const { role, parts } of body.contents) if (role === "model") issued.check(parts);
    },
    pieces(body) {
      const parts = body.contents.flatMap((content: Json) => content.parts);
      return [...(body.tools ?? []), body.systemInstruction ?? "", ...parts].map((piece) => ({
        text: JSON.stringify(piece),
        isMarked: true,
      }));
    },
    reads: (body) => ({
      said: body.contents.flatMap(({ role, parts }: Json) =>
        parts.flatMap((part: Json) => saidIn(role, part)),
      ),
      tools: (body.tools ?? [])
        .flatMap((tool: Json) => tool.functionDeclarations)
        .map(({ name }: Json) => name),
    }),
    answer({ model, number, tokens, isStreamed }, step) {
      const thoughtSignature = signed("google", `${step.thinking}${step.text}`);
      signatures.add(thoughtSignature);
      const parts: Json[] = step.calls.map(({ name, input }, at) => ({
        // It gives no ids; the first call of a step is signed.
        functionCall: { name, args: input },
        ...(at === 0 ? { thoughtSignature } : {}),
      }));
      // In a stream, the signature of a text comes behind it, in a part without text.
      if (parts.length === 0 && isStreamed) parts.push({ text: step.text }, { text: "", thoughtSignature });
      else if (parts.length === 0) parts.push({ text: step.text, thoughtSignature });
      issued.keep(parts);
      return {
        responseId: `resp_${number}`,
        modelVersion: model,
        candidates: [{ index: 0, finishReason: "STOP", content: { role: "model", parts } }],
        usageMetadata: {
          promptTokenCount: tokens.input,
          cachedContentTokenCount: tokens.cached,
          candidatesTokenCount: tokensOf(JSON.stringify(parts)),
          totalTokenCount: tokens.input + tokensOf(JSON.stringify(parts)),
        },
      };
    },
    tooLong: (tokens, limit) =>
      new Refused(
        limit === undefined
          ? "The input token count exceeds the maximum number of tokens allowed."
          : `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${limit}).`,
        "INVALID_ARGUMENT",
      ),
    error: ({ message }) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  };
  return api;
}

function saidIn(role: string, part: Json): readonly Said[] {
  const { functionResponse, text = "" } = part;
  if (functionResponse) return [{ role: "tool", text: textOf(functionResponse.response) }];
  return [{ role: role === "user" ? "user" : "assistant", text }];
}

function textOf({ output, error }: Json): string {
  const said = output ?? error ?? "";
  return typeof said === "string" ? said : JSON.stringify(said);
}

function checkContents(contents: Json, signatures: ReadonlySet<string>): void {
  require(Array.isArray(contents) && contents.length > 0, "contents is not specified");
  require(contents[0].role === "user", "Please ensure that the conversation starts with a user turn.");
  require(contents.at(-1).role === "user", "Please ensure that the conversation ends with a user turn.");
  contents.forEach((content: Json, at: number) => {
    const path = `contents[${at}]`;
    onlyFields(content, "role parts", path);
    require(content.role !== contents[at - 1]?.role, `${path}: user and model take turns`);
    require(Array.isArray(content.parts) && content.parts.length > 0, `${path}.parts must not be empty`);
    for (const part of content.parts) {
      onlyFields(part, partFields, path);
      const { text, thoughtSignature } = part;
      require(text === undefined ||
        text !== "" ||
        thoughtSignature, `${path}: parts must have one initialized field`);
      const isOwn =
        thoughtSignature === undefined ||
        thoughtSignature === noSignature ||
        signatures.has(thoughtSignature);
      require(isOwn, `${path}: Corrupted thought signature.`);
    }
    const calls = content.parts.filter((part: Json) => part.functionCall);
    const responses = content.parts.filter((part: Json) => part.functionResponse);
    const before = (contents[at - 1]?.parts ?? []).filter((part: Json) => part.functionCall);
    require(responses.length ===
      before.length, "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.");
    responses.forEach(({ functionResponse }: Json, index: number) => {
      require(functionResponse.name ===
        before[index].functionCall.name, `${path}: a response has another name than its call`);
      require(functionResponse.id ===
        before[index].functionCall.id, `${path}: a response has another id than its call`);
      require(typeof functionResponse.response === "object", `${path}: a response is an object`);
    });
    if (calls.length > 0) {
      require(content.role === "model", `${path}: function calls are the model's`);
      require(calls[0].thoughtSignature !==
        undefined, "Function call is missing a thought_signature in functionCall parts.");
    }
  });
}
