import { SessionDefaults } from "../../contract/gen/quire/v1/session.js";
import { UnreadableInput } from "../../errors/unreadable-input.js";
import { Findings } from "../findings.js";
import { mostCharacters } from "./bounds.js";
import { cleanName } from "./clean-name.js";
import { isObject, type JsonObject, objectAt, textAt } from "./json.js";
import { shortMetadata } from "./metadata.js";
import { piMessage } from "./pi-message.js";
import { lastLeafBelow, planBranches, type TreeNode } from "./plan-branches.js";
import { type JsonLine, readJsonLines } from "./read-json.js";
import type { Importer, PlannedSession, TranscriptMessage } from "./transcript.js";

/**
 * A session file of the pi coding agent: a header, then entries that form a tree by id and parentId (in the first
 * version of the format, a line). The branch of the last entry is the session; other branches become forks.
 */
export const importPiJsonl: Importer = (fileText, { label }) => {
  const findings = new Findings();
  const lines = readJsonLines(fileText, findings);
  const header = lines.map(({ value }) => value).find((value) => isObject(value) && value.type === "session");
  const nodes = readNodes(lines, findings);
  const last = nodes.at(-1);
  if (!isObject(header) || !last) {
    throw new UnreadableInput(
      'the file is no pi session: it needs a line of type "session", and entries after it',
    );
  }
  const sessions = planBranches(
    nodes,
    lastLeafBelow(nodes, last.id),
    {
      label,
      workspacePath: cleanName(textAt(header, "cwd"), mostCharacters("CreateSessionRequest.workspace_path")),
      metadata: shortMetadata(sessionMetadata(header, lines), findings),
      ...lastModel(header, lines),
    },
    findings,
  );
  return { sessions, findings: findings.list() };
};

function sessionMetadata(header: JsonObject, lines: readonly JsonLine[]): Record<string, string> {
  const info = lines.findLast(({ value }) => isObject(value) && value.type === "session_info")?.value;
  return {
    "pi.session_id": textAt(header, "id"),
    "pi.parent_session": textAt(header, "parentSession") || textAt(header, "branchedFrom"),
    "pi.time": textAt(header, "timestamp"),
    name: isObject(info) ? textAt(info, "name") : "",
  };
}

/** The model that the session ended with: the one it goes on with. */
function lastModel(header: JsonObject, lines: readonly JsonLine[]): Pick<PlannedSession, "defaults"> {
  const change = lines.findLast(({ value }) => isObject(value) && value.type === "model_change")?.value;
  const { model, provider } = modelOf(isObject(change) ? change : header);
  if (model === "") return {};
  return {
    defaults: SessionDefaults.fromPartial({
      model: cleanName(model, mostCharacters("SessionDefaults.model")),
      ...(provider === ""
        ? {}
        : { provider: cleanName(provider, mostCharacters("SessionDefaults.provider")) }),
    }),
  };
}

function modelOf(entry: JsonObject): { readonly model: string; readonly provider: string } {
  return { model: textAt(entry, "modelId") || textAt(entry, "model"), provider: textAt(entry, "provider") };
}

function readNodes(lines: readonly JsonLine[], findings: Findings): readonly TreeNode[] {
  const nodes: TreeNode[] = [];
  const ids = new Set<string>();
  let changed: Readonly<Record<string, string>> = {};
  for (const { line, value } of lines) {
    if (!isObject(value) || value.type === "session") continue;
    const where = `line ${line}`;
    const id = textAt(value, "id") || where;
    const read = readEntry(value, where, findings);
    const messages = read.map((message, at) =>
      at > 0 ? message : { ...message, metadata: { ...message.metadata, ...changed } },
    );
    nodes.push({ id, parentId: parentOf(value, nodes, ids, where, findings), messages });
    if (messages.length > 0) changed = {};
    changed = { ...changed, ...changeOf(value) };
    ids.add(id);
  }
  return nodes;
}

/** What the user set between messages, kept with the turn of the next message. */
function changeOf(entry: JsonObject): Readonly<Record<string, string>> {
  if (entry.type === "thinking_level_change") return { "pi.thinking_level": textAt(entry, "thinkingLevel") };
  if (entry.type !== "model_change") return {};
  const { model, provider } = modelOf(entry);
  return model === "" ? {} : { "pi.model": provider === "" ? model : `${provider}/${model}` };
}

function parentOf(
  entry: JsonObject,
  before: readonly TreeNode[],
  ids: ReadonlySet<string>,
  where: string,
  findings: Findings,
): string | undefined {
  if (!textAt(entry, "id")) return before.at(-1)?.id;
  const parentId = textAt(entry, "parentId");
  if (parentId === "" || ids.has(parentId)) return parentId || undefined;
  findings.add("entries whose parent is not in the file, joined to the entry before them", where);
  return before.at(-1)?.id;
}

function readEntry(entry: JsonObject, where: string, findings: Findings): readonly TranscriptMessage[] {
  switch (entry.type) {
    case "message": {
      const message = objectAt(entry, "message");
      if (!message) break;
      const time = textAt(entry, "timestamp") || undefined;
      return piMessage(message, where, findings).map((read) => ({ ...read, time }));
    }
    case "custom_message":
      return piMessage({ ...entry, role: "custom" }, where, findings);
    case "branch_summary":
      return piMessage({ ...entry, role: "branchSummary" }, where, findings);
    case "compaction":
      return piMessage({ ...entry, role: "compactionSummary" }, where, findings);
    case "model_change":
    case "thinking_level_change":
    case "session_info":
      return [];
    default:
  }
  findings.add(`"${textAt(entry, "type")}" entries, left out`, where);
  return [];
}
