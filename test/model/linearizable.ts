/** Something that happened at one unknown moment between its start and its end. */
export interface Timed {
  readonly start: number;
  readonly end: number;
}

/** A sequential model: what an operation makes of a state; undefined where it cannot have happened in that state. */
export interface Model<Op, State> {
  readonly initial: State;
  step(state: State, op: Op): State | undefined;
  /** Two states with the same key behave alike. */
  key(state: State): string;
}

export interface Verdict<Op, State> {
  readonly explained: boolean;
  /** The longest order that the model could follow, the state it ended in, and what could have come next. */
  readonly order: readonly Op[];
  readonly state: State;
  readonly stuckAt: readonly Op[];
}

/**
 * Whether the operations can be put in one order that keeps to their times and that the model allows: the search
 * of Wing and Gong, with Lowe's memory of what was tried.
 */
export function findOrder<Op extends Timed, State>(
  ops: readonly Op[],
  model: Model<Op, State>,
): Verdict<Op, State> {
  const sorted = [...ops].sort((a, b) => a.start - b.start);
  const done = new Array<boolean>(sorted.length).fill(false);
  const order: Op[] = [];
  const tried = new Set<string>();
  let best: Verdict<Op, State> = { explained: false, order: [], state: model.initial, stuckAt: [] };

  const candidates = (): number[] => {
    const found: number[] = [];
    let firstEnd = Number.POSITIVE_INFINITY;
    for (let index = 0; index < sorted.length; index++) {
      if (done[index]) continue;
      if (sorted[index]!.start > firstEnd) break;
      firstEnd = Math.min(firstEnd, sorted[index]!.end);
      found.push(index);
    }
    return found.filter((index) => sorted[index]!.start <= firstEnd);
  };

  const search = (state: State): boolean => {
    const next = candidates();
    if (order.length >= best.order.length) {
      best = {
        explained: next.length === 0,
        order: [...order],
        state,
        stuckAt: next.map((index) => sorted[index]!),
      };
    }
    if (next.length === 0) return true;
    const key = `${next[0]}/${aheadOf(done, next[0]!)}/${model.key(state)}`;
    if (tried.has(key)) return false;
    tried.add(key);
    for (const index of next) {
      const after = model.step(state, sorted[index]!);
      if (after === undefined) continue;
      done[index] = true;
      order.push(sorted[index]!);
      if (search(after)) return true;
      order.pop();
      done[index] = false;
    }
    return false;
  };

  search(model.initial);
  return best;
}

/** Which operations are done already although an earlier one is not. */
function aheadOf(done: readonly boolean[], first: number): string {
  const ahead: number[] = [];
  for (let index = first + 1; index < done.length; index++) if (done[index]) ahead.push(index);
  return ahead.join(",");
}
