/** Work in small steps: whoever does it may give way to others between them. */
export type Steps<T> = Generator<undefined, T>;

/** With a pause between steps where one is due. */
export async function stepByStep<T>(steps: Steps<T>, pause: () => Promise<void> | undefined): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    const due = pause();
    if (due) await due;
  }
}

/** All of them one after the other, where nobody need be let in between. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
