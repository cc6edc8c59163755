import { ContextChangeKind, type PrefixUpdate } from "../../contract/gen/quire/v1/prompt_cache.js";
import { BudgetPolicy } from "../../domain/context-settings.js";
import { sha256 } from "../../domain/hash.js";
import type { Soon } from "../../domain/soon.js";
import type { Offload } from "../../offload/offload.js";
import { isSourceSection, sourceSection } from "../gather/gathered.js";
import { isWarm } from "../resolve/pin.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { isBlockSection } from "../system/memory-blocks.js";
import { earlierSystem, type SystemDeps, type SystemStage } from "../system/system.js";
import type { ToolsStage } from "../tools/tools.js";
import type { Prefix } from "./prefix.js";
import { rewrittenPrefix } from "./rewritten-prefix.js";
import { type SectionUpdate, sectionUpdate } from "./section-update.js";
import { type ToldDeps, type ToldUpdates, toldUpdates } from "./told-updates.js";

/** What of a resolved request it needs. */
export type PrefixInput = Pick<
  ResolvedContext,
  | "activeTurn"
  | "head"
  | "model"
  | "nowMs"
  | "pin"
  | "request"
  | "scale"
  | "settings"
  | "sources"
  | "templates"
  | "tenantId"
  | "thread"
>;

export interface ProposeDeps extends SystemDeps, ToldDeps {
  readonly offload: Offload;
}

/** What the prefix should be: written anew, or the one of the context before, if history as it comes out beside it lets that stay. */
export type PrefixProposal =
  | { readonly rewritten: Prefix; readonly carried?: undefined }
  | { readonly carried: CarriedPrefix; readonly rewritten?: undefined };

/** A system prompt that stays what it was, while the current message tells what changed. */
export interface CarriedPrefix {
  readonly pinned: SystemStage;
  readonly live: SystemStage;
  readonly told: readonly ToldSection[];
  readonly toldBefore: ToldUpdates;
  /** What the current message has to tell. */
  readonly updates: readonly SectionUpdate[];
}

export interface ToldSection {
  readonly section: string;
  /** What the model will know after this context. */
  readonly hash: Buffer;
  /** What the current message has to say for that; undefined where nothing is new, or there is no current message. */
  readonly update: SectionUpdate | undefined;
}

/** Changes of these, of memory blocks and of sources may wait; all others apply at once. */
const patient = new Set([
  "workspace_rules",
  "user_identity",
  "identity",
  "persona",
  "personality",
  "soul",
  "agent_identity",
  "language",
  "skills",
  "memory",
  "autonomy",
  "environment",
]);

/**
 * While a prompt cache is warm, the system prompt stays what it was, and what changed rides in the current message; unless the prefix changes anyway,
 * or something changed that must apply at once.
 */
export function proposePrefix(
  deps: ProposeDeps,
  resolved: PrefixInput,
  tools: ToolsStage,
  live: SystemStage,
  signal?: AbortSignal,
): Soon<PrefixProposal> {
  const { pin, head, activeTurn } = resolved;
  // No turn of the thread was made with a context that is known: nothing was told, and nothing can stay.
  if (!pin && !head?.assemblyId && !activeTurn?.assemblyId)
    return { rewritten: rewrittenPrefix(resolved, live, undefined, []) };
  return proposeAfter(deps, resolved, tools, live, signal);
}

async function proposeAfter(
  deps: ProposeDeps,
  resolved: PrefixInput,
  tools: ToolsStage,
  live: SystemStage,
  signal?: AbortSignal,
): Promise<PrefixProposal> {
  const { pin, settings } = resolved;
  const isStable = settings.policy === BudgetPolicy.ELASTIC && !settings.isPrefixLive;
  const toldBefore = await toldUpdates(deps, resolved);
  const anew = (kind?: ContextChangeKind, detail = ""): PrefixProposal => {
    const cause = kind && { kind, detail };
    return { rewritten: rewrittenPrefix(resolved, live, cause, toldBefore.updates) };
  };
  if (!pin || !isStable || !isWarm(resolved, pin)) return anew();
  const sameSystem = live.hash.equals(pin.receipt.hashes!.system);
  if (sameSystem && toldBefore.updates.length === 0) return anew();
  if (!tools.hash.equals(pin.receipt.hashes!.tools)) return anew(ContextChangeKind.TOOLS);
  if ((pin.receipt.cut?.compactionId ?? "") !== (resolved.thread.compaction?.id ?? ""))
    return anew(ContextChangeKind.COMPACTION);
  const pinned = await earlierSystem(deps, resolved, pin.receipt, live.inputs);
  if (!pinned) return anew(ContextChangeKind.NOT_KEPT);

  const before = sectionTexts(pinned);
  const now = sectionTexts(live);
  // What is recalled is about the event, not about the prompt: what is new of it stands in the current message.
  const recalled = new Set(
    resolved.sources.flatMap(({ source }) => (source.isAfterHistory ? [sourceSection(source.name)] : [])),
  );
  const names = [...new Set([...before.keys(), ...now.keys()])].filter((name) => !recalled.has(name));
  const changed = names.filter((name) => before.get(name) !== now.get(name));
  const urgent = changed.find(
    (name) => !patient.has(name) && !isBlockSection(name) && !isSourceSection(name),
  );
  if (urgent !== undefined) return anew(ContextChangeKind.SECTION, urgent);
  const told = await toldSections(deps.offload, resolved, changed, toldBefore.updates, before, now, signal);
  const updates = told.flatMap(({ update }) => update ?? []);
  return { carried: { pinned, live, told, toldBefore, updates } };
}

/** Every section that is not what the pinned prompt says, or that the model was told of before. */
async function toldSections(
  offload: Offload,
  { request, templates }: Pick<ResolvedContext, "request" | "templates">,
  changed: readonly string[],
  toldBefore: readonly PrefixUpdate[],
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
  signal: AbortSignal | undefined,
): Promise<ToldSection[]> {
  const known = new Map(toldBefore.map(({ section, hash }) => [section, hash]));
  const told: ToldSection[] = [];
  for (const section of new Set([...known.keys(), ...changed])) {
    const [was, is] = [before.get(section) ?? "", now.get(section) ?? ""];
    const hash = sha256(Buffer.from(is));
    const knownHash = known.get(section) ?? sha256(Buffer.from(was));
    if (knownHash.equals(hash)) told.push({ section, hash, update: undefined });
    else if (request.event) {
      const change = { before: was, now: is };
      told.push({
        section,
        hash,
        update: await sectionUpdate(offload, templates.texts, section, change, signal),
      });
    } else if (known.has(section)) told.push({ section, hash: knownHash, update: undefined });
  }
  return told;
}

function sectionTexts({ text, sections }: SystemStage): Map<string, string> {
  const bytes = Buffer.from(text);
  return new Map(
    sections.map(({ name, offset, length }) => [name, bytes.toString("utf8", offset, offset + length)]),
  );
}
