import { formatName } from "../../assembly/body/format-name.js";
import { mostJsonBytes } from "../../assembly/body/validate-body.js";
import type { AssemblyDeps } from "../../assembly/deps.js";
import { ToolsLayer } from "../../contract/gen/quire/v1/assembly.js";
import type { ProviderResponse, ToolOutput } from "../../contract/gen/quire/v1/response.js";
import { emptyMessage, type Message, MessageRole, type Part, textPart } from "../../domain/message.js";
import { type AgentResult, emptyResult, emptyTurnDetails, type TurnDetails } from "../../domain/turn.js";
import { type Warning, WarningKind, warning } from "../../domain/warning.js";
import { QuireError } from "../../errors/quire-error.js";
import { type Answered, callWithoutId, type ModelAnswer } from "../../ledger/model-answer.js";
import { type Offload, task } from "../../offload/offload.js";
import type { ReadResponse } from "../../rendering/answer-parts.js";
import { renamedTools } from "../../rendering/render.js";
import type { BodyFormat } from "../../rendering/render-input.js";
import { providerOf, readResponse } from "../../rendering/response.js";
import { reviveBuffers } from "../revive-buffers.js";

const reading = task<typeof readResponse>("src/rendering/response.ts", "readResponse");

/** What a request says that a model or tools answered. */
interface Answering {
  readonly response: ProviderResponse | undefined;
  readonly toolResults: readonly ToolOutput[];
  readonly assemblyId?: string | undefined;
}

/** The same as messages, and what else is known from the response. */
export interface ReadAnswering extends Answered {
  readonly warnings: readonly Warning[];
  /** Who answered; empty where there was no response. */
  readonly provider: string;
  /** Whether the usage says how the provider counts what it was sent. */
  readonly teaches: boolean;
}

/**
 * Reads a provider's response, and tools' outputs. Tools are called by their own names again, as the assembly that was answered has
 * them: the one that the request names, else `turnAssembly`.
 */
export async function readAnswering(
  deps: AssemblyDeps,
  tenantId: string,
  { response, toolResults, assemblyId }: Answering,
  turnAssembly: () => Promise<string | undefined>,
  signal: AbortSignal,
): Promise<ReadAnswering> {
  const results = resultsOf(toolResults);
  if (!response) return { ...results, warnings: [], provider: "", teaches: true };
  const format = formatName(response.format)!;
  const read = await readOffLoop(deps.offload, format, response, signal);
  const isCalling = read.parts.some(({ content }) => content?.$case === "toolCall");
  const names = isCalling
    ? await toolNames(deps, tenantId, format, assemblyId || (await turnAssembly()))
    : {};
  const { texts } = await deps.templates.current();
  const warnings: Warning[] = [];
  if (read.others > 0) {
    const detail = `the response has ${read.others + 1} answers: number ${response.candidate} was recorded`;
    warnings.push(warning(WarningKind.CANDIDATES_LEFT_OUT, detail));
  }
  const modelAnswer = modelAnswerOf(read, names, texts["body-cut-off"]);
  return { ...results, modelAnswer, warnings, provider: providerOf(format), teaches: !read.ranTools };
}

/** A result with the response's usage and stop reason, where it has none of its own. */
export function resultWith(
  result: AgentResult | undefined,
  { modelAnswer }: Answered,
): AgentResult | undefined {
  if (!modelAnswer) return result;
  const given = result ?? emptyResult;
  const isReported = given.usage !== undefined || given.modelCalls.length > 0;
  return {
    ...given,
    stopReason: given.stopReason || modelAnswer.stopReason,
    usage: isReported ? given.usage : modelAnswer.usage,
  };
}

/** Details with the model that says it answered, where neither the caller nor an assembly names one. */
export function detailsWith(
  details: TurnDetails | undefined,
  { modelAnswer, provider }: Pick<ReadAnswering, "modelAnswer" | "provider">,
): TurnDetails | undefined {
  if (!modelAnswer) return details;
  const given = details ?? emptyTurnDetails;
  return { ...given, model: given.model || modelAnswer.model, provider: given.provider || provider };
}

async function readOffLoop(
  offload: Offload,
  format: BodyFormat,
  { body, candidate }: ProviderResponse,
  signal: AbortSignal,
): Promise<ReadResponse> {
  const input = { format, bytes: body, candidate };
  const read =
    body.length > mostJsonBytes
      ? reviveBuffers(await offload.run(reading, input, signal))
      : readResponse(input);
  if (!("problem" in read)) return read;
  const { path, problem } = read;
  const description = path === "" ? problem : `${path}: ${problem}`;
  throw QuireError.field("RESPONSE_UNREADABLE", "response.body", description, { path });
}

/** From the names that tools have in a body to their own, as far as the assembly is still known. */
async function toolNames(
  { receipts }: AssemblyDeps,
  tenantId: string,
  format: BodyFormat,
  assemblyId: string | undefined,
): Promise<Readonly<Record<string, string>>> {
  const stored = assemblyId ? await receipts.find(tenantId, assemblyId) : undefined;
  const wire = stored && (await receipts.findBlob(tenantId, stored.toolsHash));
  return wire ? renamedTools(format, ToolsLayer.decode(wire).tools) : {};
}

function modelAnswerOf(
  { parts, cutOff, stopReason, usage, model }: ReadResponse,
  names: Readonly<Record<string, string>>,
  cutOffText: string,
): ModelAnswer {
  const named = parts.map((part, at): Part => {
    const { content } = part;
    if (content?.$case !== "toolCall") return part;
    const callId = content.value.callId || callWithoutId(at);
    const name = Object.hasOwn(names, content.value.name) ? names[content.value.name]! : content.value.name;
    return { ...part, content: { ...content, value: { ...content.value, callId, name } } };
  });
  const messages: Message[] = [{ ...emptyMessage, role: MessageRole.ASSISTANT, parts: named }];
  const abandoned = cutOff.flatMap((at): Part[] => {
    const { content } = named[at]!;
    if (content?.$case !== "toolCall") return [];
    const value = { callId: content.value.callId, content: [textPart(cutOffText)], isError: true };
    return [{ content: { $case: "toolResult", value } }];
  });
  if (abandoned.length > 0) messages.push({ ...emptyMessage, role: MessageRole.TOOL, parts: abandoned });
  return { messages, stopReason, usage, model };
}

/** Tools' outputs as one message, if there are any. */
export function resultsOf(outputs: readonly ToolOutput[]): Pick<Answered, "resultsMessage"> {
  if (outputs.length === 0) return {};
  const parts = outputs.map(({ callId, text, content, isError }): Part => {
    const pieces = text === "" ? content : [textPart(text), ...content];
    return { content: { $case: "toolResult", value: { callId, content: pieces, isError } } };
  });
  return { resultsMessage: { ...emptyMessage, role: MessageRole.TOOL, parts } };
}
