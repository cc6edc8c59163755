import type { Receipt } from "../../contract/gen/quire/v1/assembly.js";
import { type CompareReceiptsResponse, ContextLayer } from "../../contract/gen/quire/v1/assembly_service.js";
import { printable } from "../terminal/printable.js";
import { percent } from "./budget-text.js";
import { changeText } from "./change-text.js";
import { type Lines, number, word } from "./lines.js";
import { bytesOf, shortHash } from "./receipt-text.js";

const layerNames: Readonly<Record<ContextLayer, string>> = {
  CONTEXT_LAYER_UNSPECIFIED: "nothing",
  CONTEXT_LAYER_TOOLS: "the tools",
  CONTEXT_LAYER_SYSTEM: "the system prompt",
  CONTEXT_LAYER_HISTORY: "the history",
  CONTEXT_LAYER_CURRENT: "the current message",
  UNRECOGNIZED: "a layer that this program does not know",
};

/** What a prompt cache that holds the earlier context would keep of the later one, and what it would not. */
export function printComparison(
  lines: Lines,
  earlier: Receipt,
  later: Receipt,
  comparison: CompareReceiptsResponse,
): void {
  const all = bytesOf(later.layerBytes);
  const same = comparison.firstDifference;
  lines.entry("earlier", earlier.assemblyId);
  lines.entry("later", later.assemblyId);
  if (comparison.equal) {
    lines.entry("equal", `byte for byte, all ${number(all)} bytes`, "green");
  } else {
    const share = percent(same, all);
    const [label, style] = comparison.extends
      ? (["extends", "green"] as const)
      : (["differs", "yellow"] as const);
    lines.entry(label, verdict(comparison), style);
    lines.entry(
      "same",
      `the first ${number(same)} of ${number(all)} bytes, ${share}: what a prompt cache keeps`,
    );
    lines.entry("then", printable(place(comparison)));
  }
  for (const { kind, name, version, hash } of comparison.changedInputs) {
    const shown = version > 0 ? ` version ${version}` : "";
    lines.entry(
      "changed",
      printable(`${word(kind, "INPUT_KIND_")} ${name}${shown}, now ${shortHash(hash)}`),
      "yellow",
    );
  }
}

function verdict({ extends: isExtended, layer }: CompareReceiptsResponse): string {
  if (!isExtended) return "the beginning is another one, so what follows cannot come from a prompt cache";
  if (layer === ContextLayer.CURRENT) return "all but the current message is the same";
  return "the later one begins with all of the earlier one but its current message";
}

/** Where the first byte stands that is not the same. */
function place({ layer, cause }: CompareReceiptsResponse): string {
  const where = layerNames[layer];
  return cause && layer !== ContextLayer.CURRENT ? `${where}, at ${changeText(cause)}` : where;
}
