import type { Dialect } from "../../src/storage/sql.js";
import { turnsPerSet } from "./conversation.js";

/** What a run is told: `-- --turns=20000 --contexts=5000 --databases=sqlite`. */
export interface ScaleArguments {
  /** Of the large database; the small one has a thousand. */
  readonly turns: number;
  /** Contexts of all sessions, before the memory of the process is looked at. */
  readonly contexts: number;
  readonly databases: readonly Dialect[];
}

export function readArguments(args: readonly string[]): ScaleArguments {
  const named = (name: string) => args.find((arg) => arg.startsWith(`--${name}=`))?.split("=")[1];
  const whole = (name: string, fallback: number, step: number) => {
    const value = Number(named(name) ?? fallback);
    if (Number.isInteger(value) && value >= step && value % step === 0) return value;
    throw new Error(`--${name} takes a multiple of ${step}`);
  };
  const databases = (named("databases") ?? "sqlite,postgresql").split(",");
  if (databases.some((name) => name !== "sqlite" && name !== "postgresql"))
    throw new Error("--databases takes sqlite, postgresql, or both with a comma between");
  return {
    turns: whole("turns", 200_000, 2 * turnsPerSet),
    contexts: whole("contexts", 20_000, 1),
    databases: databases as Dialect[],
  };
}
