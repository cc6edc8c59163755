/** The messages of one turn, in wire form: one piece per write call, each with the index of its messages. */
export interface StoredTurn {
  readonly turnId: string;
  readonly depth: number;
  readonly wires: readonly Buffer[];
  readonly indexes: readonly string[];
}
