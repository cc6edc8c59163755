import type { Reason } from "../../errors/reasons.js";
import { CallError } from "./call-error.js";

/** What a call gives; undefined when it is refused for this reason. */
export async function unlessRefused<T>(reason: Reason, call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof CallError && error.reason === reason) return undefined;
    throw error;
  }
}
