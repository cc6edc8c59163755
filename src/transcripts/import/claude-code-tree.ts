import type { Findings } from "../findings.js";
import { anthropicMessage } from "./anthropic-message.js";
import { type ClaudeCodeEntry, isResultEntry } from "./claude-code-entry.js";
import { isObject, type JsonObject, listAt, textAt } from "./json.js";
import type { TreeNode } from "./plan-branches.js";
import type { TranscriptMessage } from "./transcript.js";

/** Entries that are one message in truth: the lines of one answer of the model, the results of one round of calls. */
interface Group {
  readonly id: string;
  readonly parentId: string | undefined;
  readonly kind: "answer" | "results" | "other";
  readonly entries: ClaudeCodeEntry[];
}

export interface Tree {
  readonly nodes: readonly TreeNode[];
  /** The node of the last message. */
  readonly lastNode: string;
}

/**
 * The tree of a conversation. A transcript has a line for each block of an answer, and hangs each result below the line of
 * its call, so that parallel calls look like branches; lines of one answer, and results of one round, are joined first.
 */
export function buildTree(entries: readonly ClaudeCodeEntry[], findings: Findings): Tree {
  const groups = new Groups();
  let previous: Group | undefined;
  let lastNode = "";
  for (const entry of entries) {
    const parent = groups.of(entry.parentId) ?? adoptiveParent(entry, previous, findings);
    previous = groups.add(entry, parent);
    if (entry.message) lastNode = previous.id;
  }
  const nodes = groups.all.map((group) => ({
    id: group.id,
    parentId: group.parentId,
    messages: readGroup(group, findings),
  }));
  return { nodes, lastNode };
}

class Groups {
  readonly all: Group[] = [];
  private readonly byEntry = new Map<string, Group>();
  private readonly byAnswer = new Map<string, Group>();
  private readonly resultsBelow = new Map<string, Group[]>();

  of(entryId: string): Group | undefined {
    return this.byEntry.get(entryId);
  }

  add(entry: ClaudeCodeEntry, parent: Group | undefined): Group {
    const answerId = entry.raw.type === "assistant" ? textAt(entry.message ?? {}, "id") : "";
    const isResult = isResultEntry(entry);
    const known = answerId ? this.byAnswer.get(answerId) : isResult ? this.round(entry, parent) : undefined;
    const kind = answerId ? "answer" : isResult ? "results" : "other";
    const group = known ?? { id: entry.id, parentId: parent?.id, kind, entries: [] };
    if (!known) this.all.push(group);
    if (answerId) this.byAnswer.set(answerId, group);
    if (isResult && !known && parent) {
      this.resultsBelow.set(parent.id, [...(this.resultsBelow.get(parent.id) ?? []), group]);
    }
    group.entries.push(entry);
    this.byEntry.set(entry.id, group);
    return group;
  }

  /** The results of the same round of calls: below the same answer, or in a line with them, and of other calls. */
  private round(entry: ClaudeCodeEntry, parent: Group | undefined): Group | undefined {
    if (!parent) return undefined;
    const ids = resultIds(entry);
    const candidates = parent.kind === "results" ? [parent] : (this.resultsBelow.get(parent.id) ?? []);
    return candidates.find(
      (group) => !group.entries.some((other) => resultIds(other).some((id) => ids.includes(id))),
    );
  }
}

function adoptiveParent(
  entry: ClaudeCodeEntry,
  previous: Group | undefined,
  findings: Findings,
): Group | undefined {
  if (entry.parentId === "") {
    // Older files start anew at a compaction, without saying where they came from.
    const goesOn = entry.raw.subtype === "compact_boundary" || entry.raw.isCompactSummary === true;
    return goesOn ? previous : undefined;
  }
  if (previous)
    findings.add("entries whose parent is not in the file, joined to the entry before them", entry.where);
  return previous;
}

function resultIds(entry: ClaudeCodeEntry): readonly string[] {
  return listAt(entry.message ?? {}, "content").map((block) =>
    isObject(block) ? textAt(block, "tool_use_id") : "",
  );
}

function readGroup(group: Group, findings: Findings): readonly TranscriptMessage[] {
  const first = group.entries[0];
  if (!first?.message) return [];
  const time = textAt(first.raw, "timestamp") || undefined;
  const message = group.kind === "other" ? first.message : joined(group.entries, first.where, findings);
  return anthropicMessage(message, first.where, findings).map((read) => {
    if (read.model !== "<synthetic>") return { ...read, time };
    findings.add("answers that the program wrote itself, kept as ASSISTANT messages", first.where);
    return { ...read, time, model: "", provider: "" };
  });
}

/** One message of several lines: all blocks once, and the facts of the last line, which are the final ones. */
function joined(entries: readonly ClaudeCodeEntry[], where: string, findings: Findings): JsonObject {
  const blocks = new Map<string, unknown>();
  for (const block of entries.flatMap(({ message }) => contentBlocks(message ?? {}))) {
    const key = JSON.stringify(block);
    if (blocks.has(key)) findings.add("blocks that an answer holds twice, read once", where);
    blocks.set(key, block);
  }
  const facts = Object.fromEntries(
    entries.flatMap(({ message }) => Object.entries(withoutNulls(message ?? {}))),
  );
  return { ...facts, content: [...blocks.values()] };
}

function contentBlocks(message: JsonObject): readonly unknown[] {
  return typeof message.content === "string"
    ? [{ type: "text", text: message.content }]
    : listAt(message, "content");
}

function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}
