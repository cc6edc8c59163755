/** Which side of a search a text is on: questions may be prepared otherwise than what they are compared with. */
export type EmbeddedSide = "query" | "text";

/** Turns texts into vectors whose cosine says how near they are in meaning. */
export interface Embedder {
  /** Model and preparation. Vectors of different ids are never compared. */
  readonly id: string;
  /** One vector for each text, in order. Rejects as a whole: no text gets a vector of another. */
  embed(texts: readonly string[], side: EmbeddedSide, signal?: AbortSignal): Promise<readonly Float32Array[]>;
}
