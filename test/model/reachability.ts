/** A turn of the tree, finished or not. */
export interface TreeTurn {
  readonly id: string;
  readonly sessionId: string;
  /** Empty for the first turn of a thread. */
  readonly parent: string;
  /** Whether it has a place in a thread: COMPLETED and AWAITING have. */
  readonly finished: boolean;
}

export interface TreeSession {
  readonly id: string;
  readonly head: string;
  /** Every turn that its head ever was. */
  readonly visited: readonly string[];
}

export interface Forest {
  readonly turns: ReadonlyMap<string, TreeTurn>;
  readonly sessions: ReadonlyMap<string, TreeSession>;
}

/**
 * What the erasure of a session removes, worked out turn by turn: of the trees that it wrote in or stood in, all that no other
 * session reaches, as an ancestor of its head or of a turn written through it; and its own open and failed turns.
 */
export function eraseFrom(
  forest: Forest,
  sessionId: string,
): { readonly erased: ReadonlySet<string>; readonly keptOfThread: number } {
  const session = forest.sessions.get(sessionId)!;
  const turns = [...forest.turns.values()];
  const reached = new Set<string>();
  for (const other of forest.sessions.values()) {
    if (other.id === sessionId) continue;
    addThread(forest, other.head, reached);
    for (const turn of turns) if (turn.sessionId === other.id) addThread(forest, turn.id, reached);
  }
  const touched = new Set<string>();
  for (const id of session.visited) if (forest.turns.has(id)) touched.add(rootOf(forest, id));
  for (const turn of turns) if (turn.sessionId === sessionId) touched.add(rootOf(forest, turn.id));
  const erased = turns.filter((turn) =>
    turn.finished
      ? touched.has(rootOf(forest, turn.id)) && !reached.has(turn.id)
      : turn.sessionId === sessionId,
  );
  const thread = new Set<string>();
  addThread(forest, session.head, thread);
  return {
    erased: new Set(erased.map((turn) => turn.id)),
    keptOfThread: [...thread].filter((id) => reached.has(id)).length,
  };
}

function addThread(forest: Forest, from: string, into: Set<string>): void {
  for (let id = from; id !== "" && !into.has(id); id = parentOf(forest, id)) into.add(id);
}

function rootOf(forest: Forest, from: string): string {
  let id = from;
  for (let parent = parentOf(forest, id); parent !== ""; parent = parentOf(forest, id)) id = parent;
  return id;
}

function parentOf(forest: Forest, id: string): string {
  const turn = forest.turns.get(id);
  if (!turn) throw new Error(`turn ${id} is reached, but it is gone`);
  return turn.parent;
}
