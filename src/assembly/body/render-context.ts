import type { AssembledContext } from "../../contract/gen/quire/v1/assembly.js";
import { BreakpointPlace, type CachePlan } from "../../contract/gen/quire/v1/prompt_cache.js";
import type { BodyFormat, RenderedBody } from "../../contract/gen/quire/v1/rendering.js";
import { sha256 } from "../../domain/hash.js";
import type { Message } from "../../domain/message.js";
import type { PromptTexts } from "../../domain/prompt-texts.js";
import type { Soon } from "../../domain/soon.js";
import { distinctWarnings } from "../../domain/warning.js";
import type { Tool } from "../../domain/workspace.js";
import { type Catalogue, findModel } from "../../models/catalogue.js";
import { type Offload, task } from "../../offload/offload.js";
import { sentParts } from "../../rendering/messages.js";
import { encodeBody, renamedTools, renderBody } from "../../rendering/render.js";
import type { CacheBreakpoint } from "../../rendering/render-input.js";
import { type SentParameters, sentParameters } from "../../rendering/sent-parameters.js";
import { decodeMessages, encodeMessages } from "../../thread/message-codec.js";
import type { CacheStage } from "../cache/plan-caching.js";
import type { ContextUse, Stages } from "../plan/budget-use.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { formatName } from "./format-name.js";
import type { renderPieces } from "./render-pieces.js";
import { requireOwnModel } from "./require-own-model.js";
import { settleConfig } from "./settle-config.js";
import { mostJsonBytes } from "./validate-body.js";

/** What of a resolved request it needs. */
export type BodyInput = Pick<ResolvedContext, "request" | "session" | "templates">;

export interface BodyDeps {
  readonly catalogue: Catalogue;
  readonly offload: Offload;
}

/** What a body is made from beside the context itself. */
export interface RenderedWith {
  readonly history: readonly Buffer[];
  readonly cachePlan: CachePlan | undefined;
  readonly sessionId: string;
  readonly texts: PromptTexts;
}

/** A body, and how it calls the model. */
export interface SentBody {
  readonly rendered: RenderedBody;
  readonly sent: SentParameters;
}

const rendering = task<typeof renderPieces>("src/assembly/body/render-pieces.ts", "renderPieces");

/**
 * A context as its provider takes it; undefined when no body is asked for. One with much JSON in its calls and tools is
 * rendered in a worker thread, to the same bytes.
 */
export async function renderContext(
  { catalogue, offload }: BodyDeps,
  context: AssembledContext,
  { history, cachePlan, sessionId, texts }: RenderedWith,
  format: BodyFormat,
  signal?: AbortSignal,
): Promise<SentBody | undefined> {
  const name = formatName(format);
  if (!name) return undefined;
  const { model, systemPrompt, tools, currentMessage, modelConfig, leadMessages } = context;
  requireOwnModel(catalogue, model, format, "render");
  const { outputTokens, parameters } = findModel(catalogue, model).entry;
  const rest = {
    model,
    system: systemPrompt,
    tools,
    ...answerLimits(context, outputTokens),
    // A receipt from before may hold one that the model does not take.
    temperature: parameters.includes("temperature") ? modelConfig?.temperature : undefined,
    thinking: modelConfig?.thinking,
    breakpoints: (cachePlan?.breakpoints ?? []).map((place) => asBreakpoint(place, leadMessages.length)),
    cacheKey: sessionId,
    texts,
  };
  const decoded = history.flatMap((piece) => decodeMessages(piece));
  const messages = [...leadMessages, ...decoded, ...(currentMessage ? [currentMessage] : [])];
  const toolNames = renamedTools(name, tools);
  if (jsonLength(tools, messages) > mostJsonBytes) {
    const lead = leadMessages.length > 0 ? [encodeMessages(leadMessages).wire] : [];
    const current = currentMessage ? [encodeMessages([currentMessage]).wire] : [];
    const input = { format: name, context: rest, pieces: [...lead, ...history, ...current] };
    const { body, hash, sent } = await offload.run(rendering, input, signal);
    return { rendered: { format, body: asBuffer(body), hash: asBuffer(hash), toolNames }, sent };
  }
  const made = renderBody(name, { ...rest, messages });
  const body = encodeBody(made);
  return { rendered: { format, body, hash: sha256(body), toolNames }, sent: sentParameters(name, made) };
}

/** How much JSON a renderer has to read. */
function jsonLength(tools: readonly Tool[], messages: readonly Message[]): number {
  let length = 0;
  for (const tool of tools) length += tool.inputSchemaJson.length;
  for (const message of messages) {
    for (const { content } of sentParts(message)) {
      if (content?.$case === "toolCall") length += content.value.argumentsJson.length;
      else if (content?.$case === "opaque") length += content.value.data.length;
    }
  }
  return length;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
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

/** A finished context, with the body that the request asks for, if it asks for one: then the context says the same as the body. */
export interface RenderedStages {
  readonly rendered: RenderedBody | undefined;
  readonly context: AssembledContext;
  readonly use: ContextUse;
}

export function renderStages(
  deps: BodyDeps,
  input: BodyInput,
  stages: Stages,
  context: AssembledContext,
  use: ContextUse,
  cache: CacheStage,
  signal?: AbortSignal,
): Soon<RenderedStages> {
  const name = formatName(input.request.render);
  if (!name) return { rendered: undefined, context, use };
  return renderAs(name, deps, input, stages, context, use, cache, signal);
}

async function renderAs(
  name: NonNullable<ReturnType<typeof formatName>>,
  deps: BodyDeps,
  { request, session, templates }: BodyInput,
  { system, tools, history }: Stages,
  context: AssembledContext,
  use: ContextUse,
  { plan }: CacheStage,
  signal: AbortSignal | undefined,
): Promise<RenderedStages> {
  const layers = { systemPrompt: system.text, leadMessages: [...system.lead.messages] };
  const whole = { ...context, ...layers, tools: [...tools.tools] };
  const sentWith = {
    history: history.allPieces(),
    cachePlan: plan,
    sessionId: session.id,
    texts: templates.texts,
  };
  const { rendered, sent } = (await renderContext(deps, whole, sentWith, request.render, signal))!;
  const { config, warnings: more } = settleConfig(context.modelConfig!, sent, name);
  const warnings = distinctWarnings([...use.warnings, ...more]);
  return { rendered, context: { ...context, modelConfig: config, warnings }, use: { ...use, warnings } };
}

/** A plan counts the messages of history; a body has those before it, too. */
function asBreakpoint(
  { after, messageIndex, ttlSeconds }: CachePlan["breakpoints"][number],
  leading: number,
): CacheBreakpoint {
  if (after === BreakpointPlace.MESSAGE)
    return { after: "message", messageIndex: leading + messageIndex, ttlSeconds };
  return { after: after === BreakpointPlace.TOOLS ? "tools" : "system", ttlSeconds };
}
