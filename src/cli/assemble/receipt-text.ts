import type {
  CandidateRule,
  ContextCandidate,
  InputHash,
  LayerBytes,
  Receipt,
} from "../../contract/gen/quire/v1/assembly.js";
import { floorText } from "../../domain/compaction.js";
import { localTime, printable } from "../terminal/printable.js";
import { table } from "../terminal/table.js";
import { layersText, printBudget } from "./budget-text.js";
import { printCachePlan, printPrefix } from "./cache-text.js";
import { printElisions } from "./elision-text.js";
import { historyText } from "./layer-text.js";
import { type Lines, number, word } from "./lines.js";
import { sourceText } from "./source-text.js";

/** A receipt as people read it: what it was for, everything that could have gone in, and what it was made from. */
export function printReceipt(lines: Lines, receipt: Receipt): void {
  lines.entry("receipt", receipt.assemblyId);
  const head = receipt.parentTurnId ? `head ${receipt.parentTurnId}` : "no turn yet";
  lines.below(`session ${receipt.sessionId}`, head);
  const facts = [word(receipt.role, "AGENT_ROLE_"), receipt.model, localTime(receipt.createTime)];
  lines.below(printable(facts.filter(Boolean).join(", ")));
  lines.blank();
  lines.plain(candidateTable(lines, receipt.candidates));
  const [first, ...others] = receipt.sources.map((report) => sourceText(lines, report));
  if (first !== undefined) {
    lines.blank();
    lines.entry("sources", first);
    lines.below(...others);
  }
  lines.blank();
  lines.plain(table(["INPUT", "NAME", "VERSION", "HASH"], receipt.inputs.map(inputRow), ["VERSION"]));
  lines.blank();
  lines.plain(table(["LAYER", "BYTES", "HASH"], layerRows(receipt), ["BYTES"]));
  lines.blank();
  if (receipt.budget) {
    printBudget(lines, receipt.budget);
    lines.entry("layers", layersText(receipt.budget));
  }
  if (receipt.cachePlan) printCachePlan(lines, receipt.cachePlan);
  if (receipt.prefix) printPrefix(lines, receipt.prefix);
  if (receipt.historyLayer) {
    lines.entry("history", historyText(receipt.historyLayer));
    printElisions(lines, receipt.historyLayer);
  }
  for (const floor of receipt.floors) lines.entry("gave way", printable(floorText(floor)), "yellow");
  for (const { detail } of receipt.warnings) lines.entry("warning", printable(detail), "yellow");
}

/** The rules whose names alone do not say enough. */
const ruleTexts: Partial<Record<CandidateRule, string>> = {
  CANDIDATE_RULE_PERMISSION: "permission not granted",
  CANDIDATE_RULE_NOT_ENABLED: "capability not enabled",
  CANDIDATE_RULE_DENIED: "capability denied by governance",
  CANDIDATE_RULE_SCOPE: "not in the worker's scope",
};

const columns = ["CANDIDATE", "LANE", "TOKENS", "KEPT", "RULE"];

/** Every candidate, in the order of the context. */
export function candidateTable(lines: Lines, candidates: readonly ContextCandidate[]): string {
  const rows = candidates.map(({ name, lane, tokens, kept, rule, detail }) => [
    printable(name),
    word(lane, "BUDGET_LANE_"),
    number(tokens),
    kept ? "kept" : lines.paint("yellow", "cut"),
    printable([ruleTexts[rule] ?? word(rule, "CANDIDATE_RULE_"), detail].filter(Boolean).join(": ")),
  ]);
  return table(columns, rows, ["TOKENS"]);
}

function inputRow({ kind, name, version, hash }: InputHash): readonly string[] {
  return [word(kind, "INPUT_KIND_"), printable(name), version > 0 ? String(version) : "-", shortHash(hash)];
}

function layerRows({ hashes, layerBytes }: Receipt): readonly (readonly string[])[] {
  if (!hashes) return [];
  const { tools, system, history, current, whole } = hashes;
  const layers = { tools, system, history, current };
  const rows = (Object.keys(layers) as (keyof LayerBytes & keyof typeof layers)[]).map((name) => [
    name,
    number(layerBytes?.[name] ?? 0),
    shortHash(layers[name]),
  ]);
  return [...rows, ["whole", number(bytesOf(layerBytes)), shortHash(whole)]];
}

export function bytesOf(layerBytes: LayerBytes | undefined): number {
  const { tools = 0, system = 0, history = 0, current = 0 } = layerBytes ?? {};
  return tools + system + history + current;
}

export function shortHash(hash: Uint8Array): string {
  return Buffer.from(hash).toString("hex").slice(0, 16);
}
