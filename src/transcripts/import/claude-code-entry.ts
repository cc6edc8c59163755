import type { Findings } from "../findings.js";
import { isObject, type JsonObject, listAt, objectAt, textAt } from "./json.js";
import type { JsonLine } from "./read-json.js";

/** A line of a Claude Code transcript that is part of its tree. */
export interface ClaudeCodeEntry {
  readonly id: string;
  readonly parentId: string;
  readonly where: string;
  readonly raw: JsonObject;
  /** Absent for entries that only link others: notes of the program, progress, attachments. */
  readonly message: JsonObject | undefined;
  readonly sidechain: boolean;
}

/** The entries of the tree, in the order of the file, each once. */
export function readEntries(lines: readonly JsonLine[], findings: Findings): readonly ClaudeCodeEntry[] {
  const entries = new Map<string, ClaudeCodeEntry>();
  for (const { line, value } of lines) {
    const where = `line ${line}`;
    if (!isObject(value)) {
      findings.add("lines that are no objects, left out", where);
      continue;
    }
    const message =
      value.type === "user" || value.type === "assistant" ? objectAt(value, "message") : undefined;
    if (!message && value.type !== "summary") noteLeftOut(value, where, findings);
    const id = textAt(value, "uuid") || (message ? where : "");
    if (id === "") continue;
    if (entries.has(id)) {
      findings.add("entries that the file holds twice, read once", where);
      continue;
    }
    noteOddities(value, where, findings);
    const parentId = textAt(value, "parentUuid") || textAt(value, "logicalParentUuid");
    entries.set(id, { id, parentId, where, raw: value, message, sidechain: value.isSidechain === true });
  }
  return [...entries.values()];
}

/** Whether all that a user entry holds are tool results. */
export function isResultEntry({ raw, message }: ClaudeCodeEntry): boolean {
  if (raw.type !== "user" || !message) return false;
  const blocks = listAt(message, "content");
  return blocks.length > 0 && blocks.every((block) => isObject(block) && block.type === "tool_result");
}

function noteLeftOut(entry: JsonObject, where: string, findings: Findings): void {
  const kind = [textAt(entry, "type"), textAt(entry, "subtype")].filter(Boolean).join("/");
  findings.add(`"${kind}" entries, left out`, where);
}

function noteOddities(entry: JsonObject, where: string, findings: Findings): void {
  if (entry.isCompactSummary === true) findings.add("compaction summaries, kept as USER messages", where);
  else if (entry.isMeta === true)
    findings.add("notes of the program to the model, kept as USER messages", where);
  if (entry.toolUseResult !== undefined)
    findings.add("second copies of tool results that no model saw, left out", where);
}
