import {
  AssembledContext,
  CandidateRule,
  type ContextCandidate,
  ToolsLayer,
} from "../../contract/gen/quire/v1/assembly.js";
import { AgentRole } from "../../domain/agent-role.js";
import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import { sha256 } from "../../domain/hash.js";
import { megabyte, parsedJsonBytes, textBytes } from "../../domain/memory-size.js";
import { objectId } from "../../domain/object-id.js";
import { shortKey } from "../../domain/short-key.js";
import type { Soon } from "../../domain/soon.js";
import { type ModelTokens, minus, sumOf } from "../../domain/token-units.js";
import { wireBytes } from "../../domain/wire-bytes.js";
import { type Tool, ToolKind, type ToolRule } from "../../domain/workspace.js";
import { memoryTools } from "../../memory/tools/memory-tools.js";
import { scaled } from "../../models/token-scale.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { toolCandidate } from "../plan/candidates.js";
import type { ContextPlan } from "../plan/plan.js";
import { isStrictTruncate } from "../plan/strict.js";
import type { ResolvedContext } from "../resolve/resolve.js";

/** What of a resolved request it needs. */
export type ToolsInput = Pick<
  ResolvedContext,
  "capsule" | "request" | "role" | "scale" | "settings" | "toolset"
>;

export interface ToolsDeps {
  readonly counter: TokenCounter;
  readonly toolsCache: ToolsCache;
}

export interface ToolsStage {
  readonly tools: readonly Tool[];
  readonly rules: readonly ToolRule[];
  readonly tokens: ModelTokens;
  /** The tools in the form in which they are hashed, stored and sent: `tools` of a ToolsLayer. */
  readonly wire: Buffer;
  /** The same as `tools` of an AssembledContext. */
  readonly contextWire: Buffer;
  readonly hash: Buffer;
  readonly candidates: readonly ContextCandidate[];
}

export interface ToolsCache {
  /** Selections by the hash of all that they are made from. */
  readonly selections: BoundedCache<ToolsStage>;
  /** Those hashes by the objects that they are made from, which are the same from one context to the next. */
  readonly keys: BoundedCache<{ readonly key: string }>;
}

export function createToolsCache(caches: Caches): ToolsCache {
  return {
    selections: caches.create<ToolsStage>("tools", 64 * megabyte, stageBytes),
    keys: caches.create<{ readonly key: string }>("keys of tools", megabyte, ({ key }) => textBytes(key)),
  };
}

/** The forms of a tool's schema that a renderer keeps with it: each provider has its own. */
const schemaForms = 3;

function stageBytes({ tools, rules, wire, candidates }: ToolsStage): number {
  const schemas = tools.reduce((sum, tool) => sum + parsedJsonBytes(tool.inputSchemaJson), 0);
  const named = candidates.reduce(
    (sum, { name, detail }) => sum + 320 + 2 * textBytes(name) + 2 * textBytes(detail),
    0,
  );
  const ruled = rules.reduce((sum, { tool, rule }) => sum + 256 + textBytes(`${tool}${rule?.value}`), 0);
  // The texts of the tools, and their bytes in both forms; the candidates are kept in wire form, too (receipt-wire.ts).
  return 1_000 + 4 * wire.length + 512 * tools.length + schemaForms * schemas + named + ruled;
}

/** The tools that remain after capabilities, permissions and role; each that does not is in the receipt with the rule that took it. */
export function selectTools(deps: ToolsDeps, resolved: ToolsInput, plan: ContextPlan): Soon<ToolsStage> {
  const { selections, keys } = deps.toolsCache;
  const told = toldBy(resolved, plan);
  const objects = `${objectId(resolved.toolset)}/${objectId(resolved.capsule)}/${told}`;
  let key = keys.get(objects)?.key;
  if (key === undefined) {
    key = selectionKey(resolved, told);
    keys.set(objects, { key });
  }
  return selections.get(key) ?? keepSelection(deps, resolved, plan, key);
}

async function keepSelection(
  deps: ToolsDeps,
  resolved: ToolsInput,
  plan: ContextPlan,
  key: string,
): Promise<ToolsStage> {
  const selected = await select(deps, resolved, plan);
  deps.toolsCache.selections.set(key, selected);
  return selected;
}

/** All but the toolset and the capsule that a selection is made from. */
function toldBy(resolved: ToolsInput, plan: ContextPlan): string {
  const { request, settings, role, scale } = resolved;
  const { vocabulary, exact, ratio, margin } = scale;
  const { tools, toolRules, permissionsGranted, scopedCapabilities } = request;
  const lists = [tools, toolRules, permissionsGranted];
  const isPlain = scopedCapabilities === undefined && lists.every((list) => list.length === 0);
  const named = isPlain ? "" : shortKey([...lists, scopedCapabilities]);
  const shown = `${settings.includeDescriptions}/${settings.includeSchemas}`;
  const lane = isStrictTruncate(resolved) ? plan.lanes.tools : "";
  return `${role}/${shown}/${vocabulary}/${exact}/${ratio}/${margin}/${lane}/${named}`;
}

function selectionKey({ toolset, capsule }: ToolsInput, told: string): string {
  return shortKey([toolset ? base64(toolset.hash) : "", base64(capsule.hash), told]);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

async function select(deps: ToolsDeps, resolved: ToolsInput, plan: ContextPlan): Promise<ToolsStage> {
  const { settings, request } = resolved;
  const own = resolved.capsule.body?.persona?.memory?.tools ? memoryTools : [];
  const offered = new Map([...own, ...(resolved.toolset?.tools ?? [])].map((tool) => [tool.name, tool]));
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
  let kept: { readonly tool: Tool; readonly tokens: ModelTokens }[] = [];
  shown.forEach((tool, index) => {
    const tokens = scaled(resolved.scale, counts[index]!);
    const excluded = exclusion(resolved, tool);
    if (excluded)
      candidates.push(toolCandidate({ name: `tool ${tool.name}`, tokens, kept: false, ...excluded }));
    else kept.push({ tool, tokens });
  });
  let total = sumOf(kept, (entry) => entry.tokens);
  while (isStrictTruncate(resolved) && total > plan.lanes.tools && kept.length > 0) {
    const last = kept.at(-1)!;
    kept = kept.slice(0, -1);
    total = minus(total, last.tokens);
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
  const wire = wireBytes(ToolsLayer, ToolsLayer.create({ tools: [...tools] }));
  const contextWire = wireBytes(AssembledContext, AssembledContext.create({ tools: [...tools] }));
  // A rule for a tool that is not there would only confuse; one for a tool that the engine brings itself stays.
  const names = new Set(tools.map((tool) => tool.name));
  const rules = [...(resolved.toolset?.rules ?? []), ...request.toolRules].filter(
    ({ tool }) => names.has(tool) || !offered.has(tool),
  );
  return { tools, rules, tokens: total, wire, contextWire, hash: sha256(wire), candidates };
}

type Exclusion = Pick<ContextCandidate, "rule"> & Partial<Pick<ContextCandidate, "detail">>;

/** The rule that takes a tool away, if one does. */
function exclusion(resolved: ToolsInput, tool: Tool): Exclusion | undefined {
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
    const isScoped = scope !== undefined && tool.kind !== ToolKind.REPLY && tool.kind !== ToolKind.SPAWN;
    if (isScoped && !names.some((name) => scope.includes(name))) return { rule: CandidateRule.SCOPE };
  } else if (tool.kind === ToolKind.REPLY) {
    return { rule: CandidateRule.ROLE, detail: "only a worker replies to a manager" };
  }
  return undefined;
}
