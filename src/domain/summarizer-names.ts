/** Who can be asked for a summary: embedded, a model of the operator's, or the caller. */
export const summarizerNames = ["extractive", "openai", "anthropic", "engine"] as const;
