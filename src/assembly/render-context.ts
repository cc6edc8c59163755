import { type Catalogue, findModel } from "../budget/catalogue.js";
import type { AssembledContext } from "../contract/gen/quire/v1/assembly.js";
import type { CachePlan } from "../contract/gen/quire/v1/prompt_cache.js";
import { BodyFormat, type RenderedBody } from "../contract/gen/quire/v1/rendering.js";
import { sha256 } from "../domain/hash.js";
import { decodeMessages } from "../ledger/message-codec.js";
import { encodeBody, renamedTools, renderBody } from "../rendering/render.js";
import type { CacheBreakpoint, BodyFormat as FormatName } from "../rendering/render-input.js";
import type { Stages } from "./budget-use.js";
import type { AssemblyDeps } from "./deps.js";
import type { CacheStage } from "./plan-caching.js";
import type { ResolvedContext } from "./resolve.js";

const formats: { readonly [Format in BodyFormat]?: FormatName } = {
  [BodyFormat.ANTHROPIC_MESSAGES]: "anthropic",
  [BodyFormat.OPENAI_RESPONSES]: "openai-responses",
  [BodyFormat.OPENAI_CHAT]: "openai-chat",
  [BodyFormat.GEMINI]: "gemini",
};

/** The renderer's name for a format of the contract; undefined for none. */
export function formatName(format: BodyFormat): FormatName | undefined {
  return formats[format];
}

/** What a body is made from beside the context itself. */
export interface RenderedWith {
  readonly history: readonly Buffer[];
  readonly cachePlan: CachePlan | undefined;
  readonly sessionId: string;
}

/** A context as its provider takes it; undefined when no body is asked for. */
export function renderContext(
  catalogue: Catalogue,
  context: AssembledContext,
  { history, cachePlan, sessionId }: RenderedWith,
  format: BodyFormat,
): RenderedBody | undefined {
  const name = formatName(format);
  if (!name) return undefined;
  const { model, systemPrompt, tools, currentMessage, modelConfig } = context;
  const messages = history.flatMap((piece) => decodeMessages(piece));
  const { outputTokens, takesTemperature } = findModel(catalogue, model).entry;
  const body = encodeBody(
    renderBody(name, {
      model,
      system: systemPrompt,
      tools,
      messages: currentMessage ? [...messages, currentMessage] : messages,
      ...answerLimits(context, outputTokens),
      temperature: takesTemperature ? modelConfig?.temperature : undefined,
      thinking: modelConfig?.thinking,
      breakpoints: (cachePlan?.breakpoints ?? []).map(asBreakpoint),
      cacheKey: sessionId,
    }),
  );
  return { format, body, hash: sha256(body), toolNames: renamedTools(name, tools) };
}

/** What the model may answer with: providers refuse a context that with the answer is larger than the window. */
function answerLimits({ modelConfig, tokenBudget }: AssembledContext, outputTokens: number) {
  const left = tokenBudget ? tokenBudget.modelLimit - (tokenBudget.used?.total ?? 0) : outputTokens;
  const most = Math.max(1, Math.min(outputTokens, left));
  const wanted = modelConfig?.maxTokens ?? 0;
  return {
    maxTokens: wanted === 0 ? 0 : Math.min(wanted, most),
    outputTokens: Math.min(most, tokenBudget?.reserveResponse || most),
  };
}

/** The body that the request asks for, if it asks for one. */
export function renderStages(
  deps: AssemblyDeps,
  { request, session }: ResolvedContext,
  { system, tools, history }: Stages,
  context: AssembledContext,
  { plan }: CacheStage,
): RenderedBody | undefined {
  const whole = { ...context, systemPrompt: system.text, tools: [...tools.tools] };
  const sent = { history: history.allPieces(), cachePlan: plan, sessionId: session.id };
  return renderContext(deps.catalogue, whole, sent, request.render);
}

function asBreakpoint({
  after,
  messageIndex,
  ttlSeconds,
}: CachePlan["breakpoints"][number]): CacheBreakpoint {
  return after === "message"
    ? { after, messageIndex, ttlSeconds }
    : { after: after as "tools" | "system", ttlSeconds };
}
