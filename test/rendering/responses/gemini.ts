import type { Candidate, GenerateContentResponse } from "@google/genai";

type Answer = Partial<Omit<GenerateContentResponse, "text" | "data" | "functionCalls" | "executableCode">>;

function answer(...candidates: readonly Candidate[]): Answer {
  return {
    responseId: "resp_1",
    modelVersion: "gemini-4-argon",
    candidates: candidates.map((candidate, index) => ({ ...candidate, index })),
    usageMetadata: {
      promptTokenCount: 1_200,
      toolUsePromptTokenCount: 12,
      cachedContentTokenCount: 1_024,
      candidatesTokenCount: 32,
      thoughtsTokenCount: 8,
      totalTokenCount: 1_252,
    },
  };
}

/** The values of the SDK's enum, which tests need not load. */
const stop = "STOP" as Candidate["finishReason"] & string;
const maxTokens = "MAX_TOKENS" as Candidate["finishReason"] & string;

/** Answers of generateContent, in the SDK's own types. */
export const geminiResponses = {
  text: answer({ finishReason: stop, content: { role: "model", parts: [{ text: "Good morning." }] } }),
  citations: answer({
    finishReason: stop,
    content: { role: "model", parts: [{ text: "Sales grew by 4 %.", thoughtSignature: "c2lnbmVk" }] },
    citationMetadata: { citations: [{ startIndex: 0, endIndex: 18, uri: "https://example.com" }] },
  }),
  "parallel-calls": answer({
    finishReason: stop,
    content: {
      role: "model",
      parts: [
        {
          functionCall: { id: "call_1", name: "search", args: { q: "Lisbon" } },
          thoughtSignature: "c2lnbmVk",
        },
        { functionCall: { id: "call_2", name: "search", args: { q: "Porto" } } },
      ],
    },
  }),
  "no-call-ids": answer({
    finishReason: stop,
    content: {
      role: "model",
      parts: [
        { functionCall: { name: "search", args: { q: "Lisbon" } }, thoughtSignature: "c2lnbmVk" },
        { functionCall: { name: "search", args: { q: "Porto" } } },
      ],
    },
  }),
  thinking: answer({
    finishReason: stop,
    content: {
      role: "model",
      parts: [
        { text: "Which one is cheaper?", thought: true, thoughtSignature: "dGhvdWdodA==" },
        { text: "The second one." },
      ],
    },
  }),
  refusal: answer({ finishReason: "SAFETY" as typeof stop }),
  truncation: answer({
    finishReason: maxTokens,
    content: { role: "model", parts: [{ text: "It begins with" }] },
  }),
  "server-tools": answer({
    finishReason: stop,
    content: {
      role: "model",
      parts: [
        { executableCode: { code: "print(2 ** 70)", language: "PYTHON" as never } },
        { codeExecutionResult: { outcome: "OUTCOME_OK" as never, output: "1180591620717411303424\n" } },
        { text: "It is 1180591620717411303424." },
      ],
    },
  }),
  picture: answer({
    finishReason: stop,
    content: {
      role: "model",
      parts: [
        { text: "Here it is." },
        { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" }, thoughtSignature: "c2lnbmVk" },
      ],
    },
  }),
  "several-candidates": answer(
    { finishReason: stop, content: { role: "model", parts: [{ text: "Heads." }] } },
    { finishReason: stop, content: { role: "model", parts: [{ text: "Tails." }] } },
  ),
} satisfies Readonly<Record<string, Answer>>;

export const geminiBlocked: Answer = {
  promptFeedback: {
    blockReason: "PROHIBITED_CONTENT" as never,
    blockReasonMessage: "The prompt was blocked.",
  },
  usageMetadata: { promptTokenCount: 12 },
};
