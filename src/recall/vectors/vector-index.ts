/** Where a search looks: the partitions whose documents its asker may read. */
export interface VectorScope {
  readonly partitionIds: readonly number[];
}

export interface DocumentVector {
  /** The `id` of a row of `search_documents`; ids are never used again. */
  readonly documentId: number;
  readonly vector: Float32Array;
}

export interface SurveyOptions {
  readonly scope: VectorScope;
  /** How many of the nearest are wanted. */
  readonly nearest: number;
  /** Documents whose cosine is wanted in any case. */
  readonly documentIds?: readonly number[];
  readonly signal?: AbortSignal;
}

/** What a scope has near to a query. */
export interface Survey {
  /** The nearest documents, nearest first; then those that were asked for, as far as they have a vector. */
  readonly ids: Int32Array;
  readonly cosines: Float32Array;
  /** How many documents of the scope have a vector. */
  readonly count: number;
}

/** Vectors of search documents. Derived: it can be emptied and filled again. Vectors of other embedders are never seen. */
export interface VectorIndex {
  /**
   * Stores vectors and takes their documents off the list of those that want one. What is gone meanwhile is left out. Rejects vectors
   * of other dimensions than the embedder had before.
   */
  put(embedderId: string, entries: readonly DocumentVector[]): Promise<void>;
  /** What is forgotten is not kept in this process any more. (A search shows only documents whose rows it finds.) */
  forget(documentIds: readonly number[]): void;
  survey(embedderId: string, query: Float32Array, options: SurveyOptions): Promise<Survey>;
}
