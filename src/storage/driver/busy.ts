import { setTimeout as sleep } from "node:timers/promises";
import { isBusy } from "./sqlite-errors.js";

/**
 * Tries again while another connection holds the lock, without blocking the event loop. Only for work that did
 * nothing when it found the database locked: one statement, or a begin.
 */
export function retryWhileBusy<T>(work: () => T, timeoutMs: number): T | Promise<T> {
  try {
    return work();
  } catch (error) {
    if (!isBusy(error)) throw error;
    return tryAgain(work, error, Date.now() + timeoutMs);
  }
}

async function tryAgain<T>(work: () => T, first: unknown, deadline: number): Promise<T> {
  let last = first;
  for (let waitMs = 1; Date.now() + waitMs <= deadline; waitMs = Math.min(waitMs * 2, 64)) {
    await sleep(waitMs);
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      last = error;
    }
  }
  throw last;
}
