/** A model that is reached over the network. */
export interface Endpoint {
  /** Empty for the provider's own. */
  readonly baseUrl: string;
  readonly model: string;
  /** Empty for an endpoint that asks for none. */
  readonly apiKey: string;
  /** For each attempt, to the end of the answer. */
  readonly timeoutMs: number;
  /** How often a call is made again that failed for a passing reason, with growing waits between. */
  readonly retries: number;
}

/** SDKs look for keys in the environment and in files unless they are given one. */
export const noKey = "none";
