import { Findings } from "../findings.js";
import { contentKey } from "./content-key.js";
import { planTurns } from "./plan-turns.js";
import type { PlannedSession, TranscriptMessage } from "./transcript.js";

/** An entry of a transcript that is a tree. */
export interface TreeNode {
  readonly id: string;
  readonly parentId: string | undefined;
  readonly messages: readonly TranscriptMessage[];
}

interface Thread {
  readonly keys: readonly string[];
}

/**
 * One session for the branch that ends at `mainLeaf`, and a fork for each other branch. A fork starts at the last turn
 * that it shares with an earlier session as a whole; a turn that is shared in part is written once for each branch.
 * `offset` is the place of the first session in the plan.
 */
export function planBranches(
  nodes: readonly TreeNode[],
  mainLeaf: string,
  session: Pick<PlannedSession, "label" | "workspacePath" | "metadata" | "defaults">,
  findings: Findings,
  offset = 0,
): readonly PlannedSession[] {
  const sessions: PlannedSession[] = [];
  const threads: Thread[] = [];
  for (const path of paths(nodes, mainLeaf)) {
    const branchFindings = new Findings();
    const messages = path.flatMap((node) => node.messages);
    const turns = planTurns(messages, branchFindings, session.workspacePath);
    const keys = turns.map((turn) => contentKey(turn.messages));
    const trunk = longestTrunk(keys, threads);
    if (sessions.length > 0 && trunk.turns === keys.length) continue;
    findings.merge(branchFindings);
    if (sessions.length > 0) {
      findings.add(
        "branches besides the main one, imported as sessions of their own",
        messages.at(-1)?.where,
      );
    }
    sessions.push({
      ...session,
      label: sessions.length === 0 ? session.label : `${session.label}~${sessions.length + 1}`,
      forkOf: trunk.turns > 0 ? { session: trunk.session + offset, turns: trunk.turns } : undefined,
      turns: turns.slice(trunk.turns),
    });
    threads.push({ keys });
  }
  return sessions;
}

/** From the root to each leaf, the main one first. Nodes without messages only link others, so they are passed over. */
function paths(nodes: readonly TreeNode[], mainLeaf: string): readonly (readonly TreeNode[])[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const speaking = (id: string | undefined): TreeNode | undefined => {
    const seen = new Set<string>();
    let node = byId.get(id ?? "");
    while (node && node.messages.length === 0 && !seen.has(node.id)) {
      seen.add(node.id);
      node = byId.get(node.parentId ?? "");
    }
    return node?.messages.length ? node : undefined;
  };
  const parents = new Map(nodes.map((node) => [node.id, speaking(node.parentId)?.id]));
  const inner = new Set(nodes.filter(({ messages }) => messages.length > 0).map(({ id }) => parents.get(id)));
  const main = speaking(mainLeaf);
  const leaves = nodes.filter(({ id, messages }) => messages.length > 0 && !inner.has(id) && id !== main?.id);
  return [...(main ? [main] : []), ...leaves].map((leaf) => {
    const path: TreeNode[] = [];
    const seen = new Set<string>();
    for (let node: TreeNode | undefined = leaf; node && !seen.has(node.id); ) {
      seen.add(node.id);
      path.push(node);
      node = byId.get(parents.get(node.id) ?? "");
    }
    return path.reverse();
  });
}

/** The last leaf below a node, in the order of the file. */
export function lastLeafBelow(nodes: readonly TreeNode[], id: string): string {
  const lastChild = new Map(nodes.map((node) => [node.parentId, node.id]));
  const seen = new Set<string>([id]);
  for (let current = id; ; ) {
    const child = lastChild.get(current);
    if (child === undefined || seen.has(child)) return current;
    seen.add(child);
    current = child;
  }
}

function longestTrunk(keys: readonly string[], threads: readonly Thread[]) {
  let best = { session: 0, turns: 0 };
  for (const [session, thread] of threads.entries()) {
    const differs = keys.findIndex((key, index) => thread.keys[index] !== key);
    const turns = differs < 0 ? keys.length : differs;
    if (turns > best.turns) best = { session, turns };
  }
  return best;
}
