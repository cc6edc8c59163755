import type { EngineOptions } from "../../src/engine.js";
import type { Postgres } from "../support/postgres.js";
import { type Flags, type OpenedEngine, openedEngine } from "./opened-engine.js";

/** A database that engines run on. */
export interface TestedDatabase {
  readonly name: string;
  /** Whether it cannot be started here. */
  readonly isMissing: boolean;
  /** An engine on an empty one. */
  open(flags?: Flags, options?: EngineOptions): Promise<OpenedEngine>;
}

export function bothDatabases(postgres: Postgres | undefined): TestedDatabase[] {
  return [
    { name: "SQLite", isMissing: false, open: openedEngine },
    {
      name: "PostgreSQL",
      isMissing: postgres === undefined,
      open: async (flags, options) =>
        openedEngine({ ...flags, database: await postgres!.createDatabase() }, options),
    },
  ];
}
