import type { KnobTable } from "../../capsule/knobs.js";
import {
  CandidateRule,
  ConceptualLayer,
  type ContextCandidate,
  type InputHash,
  InputKind,
  type PromptSection,
  type Receipt,
} from "../../contract/gen/quire/v1/assembly.js";
import { AgentRole } from "../../domain/agent-role.js";
import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import { sha256 } from "../../domain/hash.js";
import type { InjectedSystem } from "../../domain/injected-context.js";
import { megabyte, ownBytes, textBytes } from "../../domain/memory-size.js";
import { emptyMessage, type Message, MessageRole, textPart } from "../../domain/message.js";
import { objectId } from "../../domain/object-id.js";
import { fill, type PromptTexts } from "../../domain/prompt-texts.js";
import { shortKey } from "../../domain/short-key.js";
import type { Soon } from "../../domain/soon.js";
import {
  type CountedTokens,
  countedTokens,
  type ModelTokens,
  plus,
  sumOf,
} from "../../domain/token-units.js";
import { DocumentKind } from "../../domain/workspace.js";
import { scaled, type TokenScale, unscaled } from "../../models/token-scale.js";
import type { ReceiptStore } from "../../storage/assembly/receipt-store.js";
import { decodeMessages, encodeMessages } from "../../thread/message-codec.js";
import { messageOverheadTokens } from "../../thread/message-overhead.js";
import { countMessages } from "../../thread/message-text.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import type { Vocabulary } from "../../tokens/vocabulary.js";
import { renderEnvironment } from "../../workspace/render-environment.js";
import { renderToolRules } from "../../workspace/tool-rules.js";
import { capabilityScope, injectedSystem } from "../event/injected-context.js";
import { type Ahead, nothingAhead } from "../gather/gathered.js";
import { sectionCandidate } from "../plan/candidates.js";
import type { ContextPlan } from "../plan/plan.js";
import { cutMarker, isStrictTruncate, truncateText } from "../plan/strict.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import type { ToolsStage } from "../tools/tools.js";
import { allowedBy } from "./allowed-capabilities.js";
import { blockDetail, blockInputs, blockSection, shownBlock } from "./memory-blocks.js";

/** What of a resolved request it needs. */
export type SystemInput = Pick<
  ResolvedContext,
  | "blocks"
  | "capsule"
  | "model"
  | "modelName"
  | "override"
  | "provider"
  | "request"
  | "role"
  | "scale"
  | "settings"
  | "task"
  | "templates"
  | "tenantId"
  | "toolset"
  | "workspace"
>;

export interface SystemDeps {
  readonly counter: TokenCounter;
  readonly systemCache: SystemCache;
  readonly knobTable: KnobTable;
  readonly receipts: ReceiptStore;
}

interface Draft {
  readonly name: string;
  readonly layer: ConceptualLayer;
  readonly text: string;
}

/** Messages between the system prompt and history. They are part of its layer: stored, hashed, counted and pinned with it. */
export interface Lead {
  readonly messages: readonly Message[];
  /** As history is stored. */
  readonly wire: Buffer;
  readonly tokens: CountedTokens;
}

const noLead: Lead = { messages: [], wire: Buffer.alloc(0), tokens: countedTokens(0) };

/** A system prompt with its counts in one vocabulary, as it is kept between assemblies. */
interface CountedPrompt {
  readonly text: string;
  /** The text as UTF-8. */
  readonly bytes: Buffer;
  readonly hash: Buffer;
  readonly tokens: CountedTokens;
  readonly lead: Lead;
  readonly sections: readonly {
    readonly name: string;
    readonly layer: ConceptualLayer;
    readonly offset: number;
    readonly length: number;
    readonly tokens: CountedTokens;
  }[];
}

/** A prompt by the objects that it is made from, which are the same from one context to the next. */
interface MadePrompt {
  readonly stage: SystemStage;
}

export interface SystemCache {
  /** Prompts by the hash of all that they are made from, and by their own. */
  readonly counted: BoundedCache<CountedPrompt>;
  readonly made: BoundedCache<MadePrompt>;
}

export function createSystemCache(caches: Caches): SystemCache {
  return {
    counted: caches.create<CountedPrompt>(
      "system prompts",
      64 * megabyte,
      ({ text, bytes, sections, lead }) =>
        1_000 + textBytes(text) + bytes.length + 256 * sections.length + 6 * lead.wire.length,
    ),
    made: caches.create<MadePrompt>("system prompts as they were made", 16 * megabyte, ({ stage }) =>
      stageBytes(stage),
    ),
  };
}

/** With its text, which it may have alone; its lists are kept in wire form, too (receipt-wire.ts). */
function stageBytes({ text, bytes, sections, inputs, injected }: SystemStage): number {
  const named = inputs.reduce((sum, { name }) => sum + 640 + 2 * textBytes(name), 0);
  const documents = injected?.documents.reduce((sum, { path }) => sum + 480 + textBytes(path), 0) ?? 0;
  return 4_000 + textBytes(text) + bytes.length + 1_500 * sections.length + named + documents;
}

export interface SystemStage {
  readonly text: string;
  /** The text as UTF-8. */
  readonly bytes: Buffer;
  readonly lead: Lead;
  /** Of the text and the lead. */
  readonly hash: Buffer;
  readonly tokens: ModelTokens;
  readonly sections: readonly PromptSection[];
  readonly candidates: readonly ContextCandidate[];
  readonly inputs: readonly InputHash[];
  /** What it is made from; undefined where that is no longer known. */
  readonly injected: InjectedSystem | undefined;
}

/** The system prompt, section by section. Nothing in it changes from turn to turn by itself: no time, no model, no platform. */
export function buildSystem(
  deps: SystemDeps,
  resolved: SystemInput,
  plan: ContextPlan,
  tools: ToolsStage,
  ahead: Ahead = nothingAhead,
): Soon<SystemStage> {
  const key = objectsKey(deps, resolved, tools, ahead);
  const known = deps.systemCache.made.get(key)?.stage;
  return known && isFitting(resolved, plan, known)
    ? known
    : fittingSystem(deps, resolved, plan, tools, ahead, key, known);
}

function isFitting(resolved: SystemInput, plan: ContextPlan, { tokens }: SystemStage): boolean {
  return !isStrictTruncate(resolved) || tokens <= plan.lanes.system;
}

async function fittingSystem(
  deps: SystemDeps,
  resolved: SystemInput,
  plan: ContextPlan,
  tools: ToolsStage,
  ahead: Ahead,
  key: string,
  known: SystemStage | undefined,
): Promise<SystemStage> {
  const whole = known ?? (await wholeSystem(deps, resolved, tools, ahead));
  if (!known) deps.systemCache.made.set(key, { stage: whole });
  if (isFitting(resolved, plan, whole)) return whole;
  if (ahead.examples.length > 0) return buildSystem(deps, resolved, plan, tools, { ...ahead, examples: [] });
  const counted = await countedPrompt(deps, resolved, tools, whole.inputs, ahead);
  return truncated(deps, resolved, plan, counted, whole.inputs);
}

async function wholeSystem(
  deps: SystemDeps,
  resolved: SystemInput,
  tools: ToolsStage,
  ahead: Ahead,
): Promise<SystemStage> {
  const inputs = inputsOf(deps, resolved);
  const counted = await countedPrompt(deps, resolved, tools, inputs, ahead);
  const injected = injectedSystem(resolved, counted.sections, counted.hash);
  const details = new Map(resolved.blocks.system.map((block) => [blockSection(block), blockDetail(block)]));
  return stage(counted, resolved.scale, inputs, injected, details);
}

async function countedPrompt(
  deps: SystemDeps,
  resolved: SystemInput,
  tools: ToolsStage,
  inputs: readonly InputHash[],
  ahead: Ahead,
): Promise<CountedPrompt> {
  const known = deps.systemCache.counted;
  const key = promptKey(resolved, tools, inputs, ahead);
  let counted = known.get(key);
  if (!counted) {
    counted = await count(
      deps,
      draftSections(resolved, tools, ahead),
      resolved.scale.vocabulary,
      leadMessages(ahead),
    );
    known.set(key, counted);
    known.set(textKey(counted.hash, resolved.scale), counted);
  }
  return counted;
}

/** Stands for all that a prompt, its counts and its inputs are made from. */
function objectsKey(deps: SystemDeps, resolved: SystemInput, tools: ToolsStage, ahead: Ahead): string {
  const { request, role, task, capsule, workspace, toolset, templates, override, model, scale } = resolved;
  const { baseInstructions, permissionsGranted, scopedCapabilities, modeBlocks, runtime } = request;
  const { blocks, settings } = resolved;
  const entry = model.entry;
  const objects = [
    capsule,
    workspace,
    toolset,
    blocks.system,
    templates,
    override,
    tools,
    entry,
    deps.knobTable,
  ];
  const { vocabulary, exact, ratio, margin } = scale;
  const told = [
    model.name,
    task,
    baseInstructions,
    permissionsGranted,
    scopedCapabilities,
    modeBlocks,
    runtime,
    ...(blocks.system.length > 0 ? [settings.includeDescriptions, settings.includeBlockSchemas] : []),
    ...(ahead === nothingAhead ? [] : [ahead]),
    ...shippedKey(resolved),
  ];
  return `${objects.map(objectId).join(".")}/${vocabulary}/${exact}/${ratio}/${margin}/${role}/${shortKey(told)}`;
}

/** A system prompt of an earlier context, as it was. Undefined where it is no longer kept. */
export async function earlierSystem(
  deps: SystemDeps,
  resolved: Pick<ResolvedContext, "scale" | "tenantId">,
  earlier: Pick<Receipt, "sections" | "hashes" | "injectedSystem" | "leadBytes">,
  inputs: readonly InputHash[],
): Promise<SystemStage | undefined> {
  const hash = earlier.hashes!.system;
  const known = deps.systemCache.counted;
  let counted = known.get(textKey(hash, resolved.scale));
  if (!counted) {
    const bytes = await deps.receipts.findBlob(resolved.tenantId, hash);
    if (!bytes) return undefined;
    const texts = earlier.sections.map(({ offset, length }) =>
      bytes.toString("utf8", offset, offset + length),
    );
    counted = await count(
      deps,
      earlier.sections.map(({ name, layer }, index) => ({ name, layer, text: texts[index]! })),
      resolved.scale.vocabulary,
      earlier.leadBytes > 0 ? decodeMessages(bytes.subarray(bytes.length - earlier.leadBytes)) : [],
    );
    known.set(textKey(hash, resolved.scale), counted);
  }
  return stage(counted, resolved.scale, inputs, earlier.injectedSystem);
}

function textKey(hash: Buffer, { vocabulary }: TokenScale): string {
  return `text ${vocabulary} ${hash.toString("base64")}`;
}

function stage(
  counted: CountedPrompt,
  scale: TokenScale,
  inputs: readonly InputHash[],
  injected: InjectedSystem | undefined,
  details: ReadonlyMap<string, string> = new Map(),
): SystemStage {
  const sections = counted.sections.map((section) => ({
    ...section,
    tokens: scaled(scale, section.tokens),
    truncated: false,
  }));
  return {
    text: counted.text,
    bytes: counted.bytes,
    lead: counted.lead,
    hash: counted.hash,
    tokens: scaled(scale, counted.tokens),
    sections,
    candidates: sections.map(({ name, layer, tokens }) =>
      sectionCandidate(layer, {
        name: `section ${name}`,
        tokens,
        kept: true,
        rule: CandidateRule.NEVER_CUT,
        detail: details.get(name) ?? "",
      }),
    ),
    inputs,
    injected,
  };
}

async function truncated(
  deps: SystemDeps,
  resolved: SystemInput,
  plan: ContextPlan,
  counted: CountedPrompt,
  inputs: readonly InputHash[],
): Promise<SystemStage> {
  const { scale } = resolved;
  const { vocabulary } = scale;
  const mark = cutMarker(resolved);
  const room = unscaled(scale, plan.lanes.system);
  const text = await truncateText(deps.counter, counted.text, room, vocabulary, mark);
  const bytes = ownBytes(Buffer.from(text));
  const keptBytes = Math.max(0, bytes.length - Buffer.byteLength(mark));
  const kept = counted.sections.filter((section) => section.offset < keptBytes);
  const ends = kept.map((section, index) =>
    index === kept.length - 1 ? bytes.length : section.offset + section.length,
  );
  const counts = await deps.counter.countAll(
    kept.map((section, index) => bytes.toString("utf8", section.offset, ends[index])),
    vocabulary,
  );
  const isCut = (section: { readonly offset: number; readonly length: number }) =>
    section.offset + section.length > keptBytes;
  const sections = kept.map(
    (section, index): PromptSection => ({
      ...section,
      length: ends[index]! - section.offset,
      tokens: scaled(scale, counts[index]!),
      truncated: isCut(section),
    }),
  );
  const candidates = counted.sections.map((section) =>
    sectionCandidate(section.layer, {
      name: `section ${section.name}`,
      tokens: scaled(scale, section.tokens),
      kept: section.offset < keptBytes,
      rule: CandidateRule.LANE,
      detail: isCut(section) ? "truncated" : "",
    }),
  );
  const tokens = scaled(scale, await deps.counter.count(text, vocabulary));
  const hash = sha256(bytes);
  const injected = injectedSystem(resolved, sections, hash);
  return { text, bytes, lead: noLead, hash, tokens, sections, candidates, inputs, injected };
}

function inputsOf(deps: SystemDeps, resolved: SystemInput): InputHash[] {
  const { capsule, workspace, toolset, request, templates, override } = resolved;
  const hashOf = (text: string) => sha256(Buffer.from(text));
  const input = (kind: InputKind, name: string, hash: Uint8Array, version = 0): InputHash => ({
    kind,
    name,
    version,
    hash: Buffer.from(hash),
  });
  return [
    input(InputKind.CAPSULE, capsule.name, capsule.hash, capsule.version),
    input(InputKind.TEMPLATES, "system", templates.hash),
    ...(override ? [input(InputKind.OVERRIDE, "prime.md", override.hash)] : []),
    ...(workspace?.documents ?? []).map((document) =>
      input(InputKind.DOCUMENT, document.path, document.hash, document.version),
    ),
    ...(workspace?.snapshotHash
      ? [input(InputKind.CAPABILITIES, workspace.name, workspace.snapshotHash)]
      : []),
    ...(toolset ? [input(InputKind.TOOLSET, toolset.name, toolset.hash, toolset.version)] : []),
    ...(request.baseInstructions
      ? [input(InputKind.REQUEST, "base_instructions", hashOf(request.baseInstructions))]
      : []),
    ...(resolved.task ? [input(InputKind.REQUEST, "task", hashOf(resolved.task))] : []),
    ...request.modeBlocks.map((block) => input(InputKind.MODE, block.name, hashOf(block.content))),
    ...blockInputs(resolved, resolved.blocks.system),
    input(InputKind.CATALOGUE, resolved.model.name, hashOfObject(resolved.model.entry)),
    input(InputKind.KNOBS, "table", hashOfObject(deps.knobTable)),
  ];
}

const objectHashes = new WeakMap<object, Buffer>();

/** The hash of something that is loaded once and never changes. */
function hashOfObject(value: object): Buffer {
  let hash = objectHashes.get(value);
  if (!hash) {
    hash = sha256(Buffer.from(JSON.stringify(value)));
    objectHashes.set(value, hash);
  }
  return hash;
}

/** What the shipped texts depend on, where they are wanted. */
function shippedKey({ settings, modelName, provider }: SystemInput): readonly unknown[] {
  const { hasBasePrompt, sovereignRounds } = settings;
  return [
    ...(hasBasePrompt ? [modelName, provider] : []),
    ...(sovereignRounds === undefined ? [] : [{ sovereignRounds }]),
  ];
}

function promptKey(
  resolved: SystemInput,
  tools: ToolsStage,
  inputs: readonly InputHash[],
  ahead: Ahead,
): string {
  const { request, role, task, workspace } = resolved;
  const parts = [
    inputs.map(({ kind, name, hash }) => [kind, name, hash.toString("base64")]),
    role,
    task,
    request.baseInstructions,
    request.permissionsGranted,
    request.scopedCapabilities,
    request.modeBlocks,
    request.runtime ?? workspace?.runtime,
    tools.rules,
    resolved.scale.vocabulary,
    ahead,
    ...shippedKey(resolved),
  ];
  return sha256(Buffer.from(JSON.stringify(parts))).toString("base64");
}

function draftSections(resolved: SystemInput, tools: ToolsStage, ahead: Ahead): Draft[] {
  const { request, capsule, workspace, role, task } = resolved;
  const { texts } = resolved.templates;
  const { WORKSPACE, PERSONA } = ConceptualLayer;
  const persona = capsule.body?.persona;
  const starts = (persona?.injectionPrompts ?? []).filter((prompt) => prompt.trigger === "start");
  const document = (kind: DocumentKind) =>
    (workspace?.documents ?? [])
      .filter((entry) => entry.kind === kind)
      .map((entry) => entry.content.trim())
      .join("\n\n");
  const { hasBasePrompt: base, sovereignRounds: rounds } = resolved.settings;
  const scope = capabilityScope(resolved);
  const runtime = request.runtime ?? workspace?.runtime;
  const drafts: Draft[] = [
    { name: "override", layer: WORKSPACE, text: resolved.override?.text ?? "" },
    { name: "role", layer: WORKSPACE, text: roleSection(role, task, texts) },
    { name: "workspace_rules", layer: WORKSPACE, text: document(DocumentKind.RULES) },
    { name: "user_identity", layer: WORKSPACE, text: document(DocumentKind.USER_IDENTITY) },
    { name: "identity", layer: PERSONA, text: base ? baseIdentity(resolved) : "" },
    {
      name: "persona",
      layer: PERSONA,
      text: [
        request.baseInstructions || (persona?.corePrompt ?? ""),
        ...starts.map((prompt) => prompt.content),
      ].join("\n"),
    },
    { name: "soul", layer: PERSONA, text: document(DocumentKind.SOUL) },
    { name: "agent_identity", layer: PERSONA, text: document(DocumentKind.AGENT_IDENTITY) },
    {
      name: "permissions",
      layer: PERSONA,
      text:
        request.permissionsGranted.length > 0
          ? fill(texts.permissions, { permissions: request.permissionsGranted.join(", ") })
          : "",
    },
    { name: "language", layer: PERSONA, text: texts.language || (base ? texts["base-language"] : "") },
    { name: "personality", layer: PERSONA, text: base ? texts["base-personality"] : "" },
    { name: "skills", layer: PERSONA, text: texts.skills || (base ? texts["base-skills"] : "") },
    { name: "memory", layer: PERSONA, text: texts.memory || (base ? texts["base-memory"] : "") },
    { name: "autonomy", layer: PERSONA, text: texts.autonomy || (base ? texts["base-autonomy"] : "") },
    ...resolved.blocks.system.map((block) => ({
      name: blockSection(block),
      layer: ConceptualLayer.MEMORY,
      text: shownBlock(resolved, block),
    })),
    ...ahead.sections.map((section) => ({ ...section, layer: ConceptualLayer.MEMORY })),
    {
      name: "environment",
      layer: WORKSPACE,
      text: workspace?.snapshot
        ? renderEnvironment(workspace.snapshot, { texts, scope, isAllowed: allowedBy(resolved) })
        : "",
    },
    {
      name: "runtime",
      layer: WORKSPACE,
      text: runtime ? fill(texts.runtime, { host: runtime.host, os: runtime.os, arch: runtime.arch }) : "",
    },
    { name: "tool_rules", layer: WORKSPACE, text: renderToolRules(tools.rules, texts) },
    ...request.modeBlocks.map((block) => ({
      name: `mode ${block.name}`,
      layer: WORKSPACE,
      text: block.content,
    })),
    {
      name: "mode sovereign",
      layer: WORKSPACE,
      text: rounds === undefined ? "" : fill(texts["sovereign-mode"], { rounds: String(rounds) }),
    },
  ];
  return drafts.filter((draft) => draft.text.trim() !== "");
}

/** Contexts are pinned for each model, so its name may be told. */
function baseIdentity({ capsule, modelName, provider, templates }: SystemInput): string {
  const { texts } = templates;
  const facts = { name: capsule.name, model: modelName, provider };
  if (modelName === "") return fill(texts["base-identity-bare"], facts);
  return fill(texts[provider === "" ? "base-identity-unserved" : "base-identity"], facts);
}

function leadMessages({ examples }: Ahead): readonly Message[] {
  return examples.map(({ role, text }, index) => ({
    ...emptyMessage,
    index,
    role: role === "user" ? MessageRole.USER : MessageRole.ASSISTANT,
    parts: [textPart(text)],
  }));
}

async function countLead(
  { counter }: SystemDeps,
  messages: readonly Message[],
  vocabulary: Vocabulary,
): Promise<Lead> {
  const counted = await countMessages(counter, messages, undefined, vocabulary);
  const tokens = sumOf(counted, ({ parts }) => plus(parts, messageOverheadTokens));
  return { messages, wire: ownBytes(encodeMessages(messages).wire), tokens };
}

function roleSection(role: AgentRole, task: string, texts: PromptTexts): string {
  if (role === AgentRole.WORKER) return fill(texts.worker, { task });
  return role === AgentRole.MANAGER ? texts.manager : "";
}

async function count(
  deps: SystemDeps,
  drafts: readonly Draft[],
  vocabulary: Vocabulary,
  leading: readonly Message[],
): Promise<CountedPrompt> {
  const text = drafts.map((draft) => draft.text).join("\n\n");
  const [tokens, ...each] = await deps.counter.countAll(
    [text, ...drafts.map((draft) => draft.text)],
    vocabulary,
  );
  let offset = 0;
  const sections = drafts.map((draft, index) => {
    const length = Buffer.byteLength(draft.text);
    const section = { name: draft.name, layer: draft.layer, offset, length, tokens: each[index]! };
    offset += length + 2;
    return section;
  });
  const bytes = ownBytes(Buffer.from(text));
  const lead = leading.length === 0 ? noLead : await countLead(deps, leading, vocabulary);
  const hash = lead === noLead ? sha256(bytes) : sha256(bytes, lead.wire);
  return { text, bytes, lead, hash, tokens: plus(tokens!, lead.tokens), sections };
}
