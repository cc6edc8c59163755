import { TaskStatus } from "../../contract/gen/quire/v1/session.js";
import { UnreadableInput } from "../../errors/unreadable-input.js";
import { Findings } from "../findings.js";
import { mostBytes, mostCharacters } from "./bounds.js";
import { type ClaudeCodeEntry, readEntries } from "./claude-code-entry.js";
import { buildTree } from "./claude-code-tree.js";
import { cleanName, wholeCharacters } from "./clean-name.js";
import { isObject, textAt } from "./json.js";
import { shortMetadata } from "./metadata.js";
import { lastLeafBelow, planBranches, type TreeNode } from "./plan-branches.js";
import { type JsonLine, readJsonLines } from "./read-json.js";
import type { Importer, PlannedSession } from "./transcript.js";

/** At the most bytes that a character can take. */
const taskLength = () => mostBytes("SubAgentLink.task") / 4;

/**
 * A Claude Code transcript. The branch of the last message is the session, other branches become forks, and each
 * sidechain (a sub-agent's own conversation) becomes a session that is linked to it.
 */
export const importClaudeCodeJsonl: Importer = (fileText, { label }) => {
  const findings = new Findings();
  const lines = readJsonLines(fileText, findings);
  const entries = readEntries(lines, findings);
  const isMain = entries.some(({ message, sidechain }) => message && !sidechain);
  // A file that holds only a sidechain is a sub-agent's own transcript.
  const main = entries.filter(({ sidechain }) => !isMain || !sidechain);
  if (!main.some(({ message }) => message)) {
    throw new UnreadableInput(
      'the file is no Claude Code transcript: it holds no "user" or "assistant" lines with a message',
    );
  }
  const workspacePath = cleanName(
    main.map(({ raw }) => textAt(raw, "cwd")).find(Boolean) ?? "",
    mostCharacters("CreateSessionRequest.workspace_path"),
  );
  const metadata = shortMetadata(sessionMetadata(main, lines), findings);
  const { nodes, lastNode } = buildTree(main, findings);
  const leaf = lastLeafBelow(nodes, lastNode);
  const sessions = [...planBranches(nodes, leaf, { label, workspacePath, metadata }, findings)];
  for (const [name, chain] of isMain ? sidechains(entries) : []) {
    const session = { label: `${label}/${name}`, workspacePath, metadata: {} };
    sessions.push(...planSidechain(chain, session, nodes, findings, sessions.length));
  }
  return { sessions, findings: findings.list() };
};

function sessionMetadata(
  main: readonly ClaudeCodeEntry[],
  lines: readonly JsonLine[],
): Record<string, string> {
  const first = (key: string) => main.map(({ raw }) => textAt(raw, key)).find(Boolean) ?? "";
  const summary = lines.findLast(({ value }) => isObject(value) && value.type === "summary")?.value;
  return {
    "claude_code.session_id": first("sessionId"),
    "claude_code.version": first("version"),
    "claude_code.git_branch": first("gitBranch"),
    summary: isObject(summary) ? textAt(summary, "summary") : "",
  };
}

/** The sidechains by name: by the agent's id, or in older files by the tree that they form. */
function sidechains(entries: readonly ClaudeCodeEntry[]): ReadonlyMap<string, ClaudeCodeEntry[]> {
  const chains = new Map<string, ClaudeCodeEntry[]>();
  const nameOf = new Map<string, string>();
  for (const entry of entries.filter(({ sidechain }) => sidechain)) {
    const agentId = textAt(entry.raw, "agentId");
    const name = agentId ? `agent-${agentId}` : (nameOf.get(entry.parentId) ?? `agent-${chains.size + 1}`);
    nameOf.set(entry.id, name);
    chains.set(name, [...(chains.get(name) ?? []), entry]);
  }
  return new Map([...chains].filter(([, chain]) => chain.some(({ message }) => message)));
}

function planSidechain(
  chain: readonly ClaudeCodeEntry[],
  session: Pick<PlannedSession, "label" | "workspacePath" | "metadata">,
  mainNodes: readonly TreeNode[],
  findings: Findings,
  offset: number,
): readonly PlannedSession[] {
  const { nodes, lastNode } = buildTree(chain, findings);
  findings.add("sub-agents, imported as sessions of their own", session.label);
  const task = firstText(nodes);
  const link = {
    parent: 0,
    task,
    taskStatus: TaskStatus.COMPLETED,
    spawningCallId: callWith(task, mainNodes),
  };
  return planBranches(nodes, lastLeafBelow(nodes, lastNode), session, findings, offset).map(
    (planned, index) => (index === 0 ? { ...planned, subAgent: link } : planned),
  );
}

function firstText(nodes: readonly TreeNode[]): string {
  for (const part of nodes.flatMap(({ messages }) => messages).flatMap(({ parts }) => parts)) {
    if (part.content?.$case === "text")
      return wholeCharacters(part.content.value.text.replaceAll("\0", "").slice(0, taskLength()));
  }
  return "";
}

/** The call that spawned a sub-agent: the one whose prompt is the sub-agent's task. */
function callWith(prompt: string, nodes: readonly TreeNode[]): string {
  const wanted = `"prompt":${JSON.stringify(prompt)}`;
  for (const part of nodes.flatMap(({ messages }) => messages).flatMap(({ parts }) => parts)) {
    if (part.content?.$case !== "toolCall" || prompt === "") continue;
    if (part.content.value.argumentsJson.includes(wanted))
      return cleanName(part.content.value.callId, mostCharacters("SubAgentLink.spawning_call_id"));
  }
  return "";
}
