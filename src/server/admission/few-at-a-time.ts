/** Does what many want done at the same moment, a few in each turn of the event loop, so that others are served in between. */
export class FewAtATime {
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly perTurn: number) {}

  soon(work: () => void): void {
    if (this.waiting.push(work) === 1) setImmediate(() => this.doSome());
  }

  private doSome(): void {
    for (const work of this.waiting.splice(0, this.perTurn)) work();
    if (this.waiting.length > 0) setImmediate(() => this.doSome());
  }
}
