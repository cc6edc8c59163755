import { v7 as uuidv7 } from "uuid";

/** Where times come from. Injected, so that tests decide what time it is. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

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

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function looksLikeUuid(text: string): boolean {
  return UUID.test(text);
}
