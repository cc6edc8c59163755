const perTurn = 64;

/** Does what many want done at the same moment, a few in each turn of the event loop, so that others are served in between. */
export class FewAtATime {
  readonly #waiting: (() => void)[] = [];

  soon(work: () => void): void {
    if (this.#waiting.push(work) === 1) setImmediate(() => this.#doSome());
  }

  #doSome(): void {
    for (const work of this.#waiting.splice(0, perTurn)) work();
    if (this.#waiting.length > 0) setImmediate(() => this.#doSome());
  }
}
