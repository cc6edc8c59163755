/** How many are woken in one turn of the event loop: each may write to a client. */
const sliceSize = 100;

/** Wakes whoever is in line, some in each turn of the event loop, so that other work goes on between. Nobody is in line twice. */
export class WakeQueue {
  private readonly line = new Set<() => void>();
  private isRunning = false;

  /** `onIdle` is called a turn after the last one was woken. */
  constructor(private readonly onIdle: () => void) {}

  get length(): number {
    return this.line.size;
  }

  add(wake: () => void): void {
    this.line.add(wake);
    if (this.isRunning) return;
    this.isRunning = true;
    setImmediate(this.wakeSlice);
  }

  remove(wake: () => void): void {
    this.line.delete(wake);
  }

  private readonly wakeSlice = (): void => {
    let left = sliceSize;
    for (const wake of this.line) {
      if (left-- === 0) break;
      this.line.delete(wake);
      wake();
    }
    if (left < sliceSize) {
      setImmediate(this.wakeSlice);
      return;
    }
    this.isRunning = false;
    this.onIdle();
  };
}
