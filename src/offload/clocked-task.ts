import { pathToFileURL } from "node:url";
import { noteThread, type ThreadClockMemory } from "./thread-clock.js";

export interface ClockedTask {
  readonly filename: string;
  readonly name: string;
  readonly input: unknown;
  readonly clock: ThreadClockMemory;
}

/** Runs a task in a worker thread, whose CPU time can then be read from outside. */
export async function runClocked({ filename, name, input, clock }: ClockedTask): Promise<unknown> {
  const module = (await import(pathToFileURL(filename).href)) as Record<string, (input: unknown) => unknown>;
  noteThread(clock);
  return module[name]!(input);
}
