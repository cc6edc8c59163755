import { v7 as uuidv7 } from "uuid";

/** Where times come from. Injected, so that tests decide what time it is. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** What waits for a time to pass. Injected, so that tests decide when it is over. */
export interface Timers {
  /** Calls back once, after so many milliseconds, unless it is cancelled before. A time that no timer can hold never passes. */
  after(ms: number, callback: () => void): { cancel(): void };
}

const longestTimerMs = 2 ** 31 - 1;

export const systemTimers: Timers = {
  after(ms, callback) {
    const timer = ms <= longestTimerMs ? setTimeout(callback, ms) : undefined;
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Where ids come from: UUIDv7 strings, which sort by the time they were made. */
export interface Ids {
  next(): string;
}

export const systemIds: Ids = { next: () => uuidv7() };

/** Storage keeps microseconds, of which the clock gives thousands. */
export function toMicroseconds(milliseconds: number): bigint {
  return BigInt(milliseconds) * 1000n;
}

export function fromMicroseconds(microseconds: bigint): Date {
  return new Date(Number(microseconds / 1000n));
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function looksLikeUuid(text: string): boolean {
  return uuid.test(text);
}
