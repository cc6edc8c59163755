/** Vectors one after the other, with the documents that they are of; 0 for a place that is empty. May be shared between threads. */
export interface VectorRows {
  readonly ids: Int32Array;
  readonly values: Float32Array;
  /** Which numbers are above the typical ones, a bit each; not filled in where nothing is known to be typical. */
  readonly signs: Uint32Array;
  readonly count: number;
}
