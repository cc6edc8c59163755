import { scaled } from "../budget/token-scale.js";
import { CandidateRule, type ContextCandidate, ToolsLayer } from "../contract/gen/quire/v1/assembly.js";
import type { BoundedCache } from "../domain/bounded-cache.js";
import type { Caches } from "../domain/caches.js";
import { sha256 } from "../domain/hash.js";
import { megabyte, ownBytes, parsedJsonBytes, textBytes } from "../domain/memory-size.js";
import { AgentRole } from "../domain/turn.js";
import { type Tool, ToolKind, type ToolRule } from "../domain/workspace.js";
import { toolCandidate } from "./candidates.js";
import type { AssemblyDeps } from "./deps.js";
import type { ContextPlan } from "./plan.js";
import type { ResolvedContext } from "./resolve.js";
import { isStrictTruncate } from "./strict.js";

export interface ToolsStage {
  readonly tools: readonly Tool[];
  readonly rules: readonly ToolRule[];
  readonly tokens: number;
  /** The tools in the form in which they are hashed, stored and sent: `tools` of a ToolsLayer. */
  readonly wire: Buffer;
  readonly hash: Buffer;
  readonly candidates: readonly ContextCandidate[];
}

/** Selections by the hash of all that they are made from. */
export type ToolsCache = BoundedCache<ToolsStage>;

export function createToolsCache(caches: Caches): ToolsCache {
  return caches.create<ToolsStage>("tools", 64 * megabyte, stageBytes);
}

/** The forms of a tool's schema that a renderer keeps with it: each provider has its own. */
const schemaForms = 3;

function stageBytes({ tools, rules, wire, candidates }: ToolsStage): number {
  const schemas = tools.reduce((sum, tool) => sum + parsedJsonBytes(tool.inputSchemaJson), 0);
  const named = candidates.reduce(
    (sum, { name, detail }) => sum + 256 + textBytes(name) + textBytes(detail),
    0,
  );
  const ruled = rules.reduce((sum, { tool, rule }) => sum + 256 + textBytes(`${tool}${rule?.value}`), 0);
  // The texts of the tools, and their bytes.
  return 1_000 + 3 * wire.length + 512 * tools.length + schemaForms * schemas + named + ruled;
}

/** The tools that remain after capabilities, permissions and role; each that does not is in the receipt with the rule that took it. */
export async function selectTools(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  plan: ContextPlan,
): Promise<ToolsStage> {
  const key = selectionKey(resolved, plan);
  const known = deps.toolsCache.get(key);
  if (known) return known;
  const selected = await select(deps, resolved, plan);
  deps.toolsCache.set(key, selected);
  return selected;
}

function selectionKey(resolved: ResolvedContext, plan: ContextPlan): string {
  const { request, settings, capsule, toolset, role, scale } = resolved;
  const parts = [
    toolset ? Buffer.from(toolset.hash).toString("base64") : "",
    Buffer.from(capsule.hash).toString("base64"),
    role,
    request.tools,
    request.toolRules,
    request.permissionsGranted,
    request.scopedCapabilities,
    settings.includeDescriptions,
    settings.includeSchemas,
    scale,
    isStrictTruncate(resolved) ? plan.lanes.tools : "",
  ];
  return sha256(Buffer.from(JSON.stringify(parts))).toString("base64");
}

async function select(deps: AssemblyDeps, resolved: ResolvedContext, plan: ContextPlan): Promise<ToolsStage> {
  const { settings, request } = resolved;
  const offered = new Map((resolved.toolset?.tools ?? []).map((tool) => [tool.name, tool]));
  for (const tool of request.tools) offered.set(tool.name, tool);
  const shown = [...offered.values()].map((tool) => ({
    ...tool,
    description: settings.includeDescriptions ? tool.description : "",
    inputSchemaJson: settings.includeSchemas ? tool.inputSchemaJson : "",
  }));
  const counts = await deps.counter.countAll(
    shown.map((tool) => `${tool.name}\n${tool.description}\n${tool.inputSchemaJson}`),
    resolved.scale.vocabulary,
  );
  const candidates: ContextCandidate[] = [];
  let kept: { readonly tool: Tool; readonly tokens: number }[] = [];
  shown.forEach((tool, index) => {
    const tokens = scaled(resolved.scale, counts[index]!);
    const excluded = exclusion(resolved, tool);
    if (excluded)
      candidates.push(toolCandidate({ name: `tool ${tool.name}`, tokens, kept: false, ...excluded }));
    else kept.push({ tool, tokens });
  });
  let total = kept.reduce((sum, entry) => sum + entry.tokens, 0);
  while (isStrictTruncate(resolved) && total > plan.lanes.tools && kept.length > 0) {
    const last = kept.at(-1)!;
    kept = kept.slice(0, -1);
    total -= last.tokens;
    candidates.push(
      toolCandidate({
        name: `tool ${last.tool.name}`,
        tokens: last.tokens,
        kept: false,
        rule: CandidateRule.LANE,
        detail: "last listed goes first",
      }),
    );
  }
  for (const { tool, tokens } of kept) {
    candidates.push(
      toolCandidate({ name: `tool ${tool.name}`, tokens, kept: true, rule: CandidateRule.NEVER_CUT }),
    );
  }
  const tools = kept.map((entry) => entry.tool);
  const wire = ownBytes(ToolsLayer.encode(ToolsLayer.create({ tools: [...tools] })).finish());
  // A rule for a tool that is not there would only confuse; one for a tool that the engine brings itself stays.
  const names = new Set(tools.map((tool) => tool.name));
  const rules = [...(resolved.toolset?.rules ?? []), ...request.toolRules].filter(
    ({ tool }) => names.has(tool) || !offered.has(tool),
  );
  return { tools, rules, tokens: total, wire, hash: sha256(wire), candidates };
}

type Exclusion = Pick<ContextCandidate, "rule"> & Partial<Pick<ContextCandidate, "detail">>;

/** The rule that takes a tool away, if one does. */
function exclusion(resolved: ResolvedContext, tool: Tool): Exclusion | undefined {
  const { capsule, request, role } = resolved;
  const names = [tool.name, tool.capability].filter((name) => name !== "");
  const enabled = capsule.body?.persona?.enabledCapabilities?.names;
  const denied = capsule.body?.governance?.deniedCapabilities ?? [];
  if (enabled && !names.some((name) => enabled.includes(name))) return { rule: CandidateRule.NOT_ENABLED };
  if (names.some((name) => denied.includes(name))) return { rule: CandidateRule.DENIED };
  const missing = tool.requiredPermissions.filter(
    (permission) => !request.permissionsGranted.includes(permission),
  );
  if (missing.length > 0) return { rule: CandidateRule.PERMISSION, detail: missing.join(", ") };
  if (role === AgentRole.WORKER) {
    if (tool.kind === ToolKind.MESSAGING)
      return { rule: CandidateRule.ROLE, detail: "a worker sends no messages" };
    const scope = request.scopedCapabilities;
    const isScoped = scope.length > 0 && tool.kind !== ToolKind.REPLY && tool.kind !== ToolKind.SPAWN;
    if (isScoped && !names.some((name) => scope.includes(name))) return { rule: CandidateRule.SCOPE };
  } else if (tool.kind === ToolKind.REPLY) {
    return { rule: CandidateRule.ROLE, detail: "only a worker replies to a manager" };
  }
  return undefined;
}
