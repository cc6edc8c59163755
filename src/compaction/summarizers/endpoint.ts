import { untilAborted } from "../../domain/until-aborted.js";
import type { Endpoint } from "../../endpoints/endpoint.js";
import type { CountTokens } from "../plan/summary-task.js";
import { type CallModel, type RecursiveOptions, summarizeRecursively } from "./recursive.js";
import type { Summarizer } from "./summarizer.js";

/** A model that is reached over the network, and what it may be sent. */
export interface EndpointOptions extends Endpoint, Omit<RecursiveOptions, "tokenRatio"> {
  readonly count: CountTokens;
  readonly tokenRatio?: number;
}

/** The Summarizer that a way to call a model makes. It stops at once when its signal aborts. */
export function endpointSummarizer(
  name: string,
  options: EndpointOptions & { readonly tokenRatio: number },
  call: CallModel,
): Summarizer {
  return {
    name,
    provider: name,
    model: options.model,
    summarize: (task, signal) =>
      untilAborted(summarizeRecursively(call, task, options, options.count, signal), signal),
  };
}
