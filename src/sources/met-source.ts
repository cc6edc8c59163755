import { SourceState } from "../domain/source.js";
import type { AskedSource } from "./asked-source.js";
import { Breaker } from "./breaker.js";

/** What is known of a source from being asked, since this server started. */
export interface SourceHealth {
  readonly calls: number;
  readonly failures: number;
  readonly lastState: SourceState;
  readonly lastDetail: string;
  readonly lastElapsedUs: number;
  /** Whether it is left alone for failing too often. */
  readonly isResting: boolean;
}

/** A source as it was met: how its calls went, and whether it may be called. */
export class MetSource {
  readonly breaker = new Breaker();
  private calls = 0;
  private failures = 0;
  private lastState: SourceState = SourceState.UNSPECIFIED;
  lastDetail = "";
  private lastElapsedUs = 0;

  get health(): SourceHealth {
    const { calls, failures, lastState, lastDetail, lastElapsedUs } = this;
    return { calls, failures, lastState, lastDetail, lastElapsedUs, isResting: this.breaker.isOpen };
  }

  note({ state, detail, elapsedUs }: AskedSource): void {
    this.calls++;
    if (state === SourceState.FAILED || state === SourceState.TIMED_OUT) this.failures++;
    this.lastState = state;
    this.lastDetail = detail;
    this.lastElapsedUs = elapsedUs;
  }
}
