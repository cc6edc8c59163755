import type { JsonValue } from "@bufbuild/protobuf";
import { table } from "./table.js";
import { printJson, printLine, say, type Terminal } from "./terminal.js";

/** How the items of a list are shown. */
export interface ListLook<T> {
  toJson(item: T): JsonValue;
  readonly columns: readonly string[];
  /** The columns that hold numbers. */
  readonly numbers: readonly string[];
  row(item: T): readonly string[];
  /** What is said where there are none. */
  readonly none: string;
}

/** A table for a person, or a line of JSON for each item. */
export function printList<T>(
  terminal: Terminal,
  { found, more }: { readonly found: readonly T[]; readonly more: boolean },
  { toJson, columns, numbers, row, none }: ListLook<T>,
  { json }: { readonly json?: boolean },
): void {
  if (json) {
    for (const item of found) printJson(terminal, toJson(item));
    return;
  }
  if (found.length === 0) say(terminal, none);
  else printLine(terminal, table(columns, found.map(row), numbers));
  if (more) say(terminal, "there are more: --limit <n>");
}
