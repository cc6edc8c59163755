import { pathToFileURL } from "node:url";
import { noteHeld, noteThread, type ThreadClockMemory } from "./thread-clock.js";

export interface ClockedTask {
  readonly filename: string;
  readonly name: string;
  readonly input: unknown;
  readonly clock: ThreadClockMemory;
}

/** Runs a task in a worker thread, whose CPU time and memory can then be read from outside. */
export async function runClocked({ filename, name, input, clock }: ClockedTask): Promise<unknown> {
  const module = (await import(pathToFileURL(filename).href)) as Record<string, (input: unknown) => unknown>;
  noteThread(clock);
  try {
    return await module[name]!(input);
  } finally {
    noteHeld(clock);
  }
}
