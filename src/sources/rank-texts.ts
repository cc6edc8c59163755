/** Things that have a text, and what they are to be relevant to. */
export interface TextsToRank<T extends object> {
  /** The same list as before is taken apart only once. */
  readonly things: readonly T[];
  readonly textOf: (thing: T) => string;
  readonly question: string;
  readonly nowMs: number;
  readonly limit: number;
  /** What is found by its meaning alone is at least so near. */
  readonly threshold?: number | undefined;
}

/** The best first; what has nothing to do with the question is left out. Recall ranks. */
export type RankTexts = <T extends object>(asked: TextsToRank<T>) => Promise<readonly T[]>;
