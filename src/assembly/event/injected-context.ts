import type { AgentEvent, PromptSection } from "../../contract/gen/quire/v1/assembly.js";
import { AgentRole } from "../../domain/agent-role.js";
import type { InjectedContext, InjectedMemory, InjectedSystem } from "../../domain/injected-context.js";
import { DocumentKind } from "../../domain/workspace.js";
import type { ContextBlock } from "../../memory/block-reader.js";
import { shownCapabilities } from "../../workspace/render-environment.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { allowedBy } from "../system/allowed-capabilities.js";
import { blockSection } from "../system/memory-blocks.js";

/** What of a resolved request it needs. */
export type InjectedInput = Pick<ResolvedContext, "blocks" | "capsule" | "request" | "role" | "workspace">;

/** The sections of the system prompt that documents are in, by their kind. */
export const documentSections: ReadonlyMap<DocumentKind, string> = new Map([
  [DocumentKind.RULES, "workspace_rules"],
  [DocumentKind.USER_IDENTITY, "user_identity"],
  [DocumentKind.SOUL, "soul"],
  [DocumentKind.AGENT_IDENTITY, "agent_identity"],
]);

/** The capabilities that a worker was given; undefined where a role sees all of them. */
export function capabilityScope({
  role,
  request,
}: Pick<ResolvedContext, "role" | "request">): readonly string[] | undefined {
  return role === AgentRole.WORKER ? request.scopedCapabilities : undefined;
}

/** What a system prompt is made from that is written now: only what is in the sections that it has. */
export function injectedSystem(
  resolved: InjectedInput,
  sections: readonly Pick<PromptSection, "name">[],
  hash: Buffer,
): InjectedSystem {
  const { role, capsule, workspace, blocks } = resolved;
  const shown = new Set(sections.map(({ name }) => name));
  const snapshot = shown.has("environment") ? workspace?.snapshot : undefined;
  return {
    role,
    persona: { capsule: capsule.name, version: capsule.version, hash: Buffer.from(capsule.hash) },
    documents: (workspace?.documents ?? [])
      .filter(({ kind, content }) => shown.has(documentSections.get(kind) ?? "") && content.trim() !== "")
      .map(({ path, version, hash: contentHash }) => ({ path, version, hash: Buffer.from(contentHash) })),
    environment: snapshot && {
      capabilityCount: shownCapabilities(snapshot, {
        scope: capabilityScope(resolved),
        isAllowed: allowedBy(resolved),
      }).length,
      snapshotTime: workspace?.snapshotTime,
      snapshotHash: workspace?.snapshotHash ?? Buffer.alloc(0),
    },
    memory: memoryOf(blocks.system.filter((block) => shown.has(blockSection(block)))),
    hash,
  };
}

function memoryOf(blocks: readonly ContextBlock[]): InjectedMemory | undefined {
  return blocks.length === 0 ? undefined : { blocks: blocks.map(({ label }) => label) };
}

/** What of an event's context is in its message, by name. */
export interface SentNames {
  readonly platform: string;
  readonly hooks: readonly string[];
  readonly triggers: readonly string[];
  readonly updates: readonly string[];
}

export function injectedContext(
  { nowMs }: Pick<ResolvedContext, "nowMs">,
  event: AgentEvent,
  system: InjectedSystem | undefined,
  { platform, hooks, triggers, updates }: SentNames,
): InjectedContext {
  const { id, source, timezone, identity, metadata } = event;
  return {
    system,
    event: {
      id,
      source,
      platform,
      timezone: timezone || "UTC",
      hooks,
      triggers,
      updates,
      identity,
      metadata: { ...metadata },
    },
    attachments: event.attachments.map(({ path, firstLine, lastLine }) => ({ path, firstLine, lastLine })),
    injectTime: new Date(nowMs),
  };
}
