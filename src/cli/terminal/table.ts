import Table from "cli-table3";

const noBorders = Object.fromEntries(
  ["top", "top-mid", "top-left", "top-right", "bottom", "bottom-mid", "bottom-left", "bottom-right"]
    .concat(["left", "left-mid", "mid", "mid-mid", "right", "right-mid"])
    .map((name) => [name, ""]),
);

/** A table without lines; columns named in `numbers` are set flush right. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  numbers: readonly string[] = [],
): string {
  const lines = new Table({
    head: [...head],
    chars: { ...noBorders, middle: "  " },
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    colAligns: head.map((name) => (numbers.includes(name) ? "right" : "left")),
  });
  lines.push(...rows.map((row) => [...row]));
  return lines
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}
