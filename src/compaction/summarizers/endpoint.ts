import { untilAborted } from "../../domain/until-aborted.js";
import type { CountTokens } from "../plan/summary-task.js";
import { type CallModel, type RecursiveOptions, summarizeRecursively } from "./recursive.js";
import type { Summarizer } from "./summarizer.js";

/** A model that is reached over the network. */
export interface EndpointOptions extends Omit<RecursiveOptions, "tokenRatio"> {
  /** Empty for the provider's own. */
  readonly baseUrl: string;
  readonly model: string;
  /** Empty for an endpoint that asks for none. */
  readonly apiKey: string;
  /** For each attempt, to the end of the answer. */
  readonly timeoutMs: number;
  /** How often a call is made again that failed for a passing reason, with growing waits between. */
  readonly retries: number;
  readonly count: CountTokens;
  readonly tokenRatio?: number;
}

/** SDKs look for keys in the environment and in files unless they are given one. */
export const noKey = "none";

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

/** Does something when it is first needed: an SDK takes a while to load, and most servers never call one. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}
