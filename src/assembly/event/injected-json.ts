import { AgentRole } from "../../domain/agent-role.js";
import { EventSource } from "../../domain/event-source.js";
import type { InjectedContext, InjectedSystem } from "../../domain/injected-context.js";

/**
 * The canonical JSON of what was injected: proto3's JSON mapping with its fields in the order of their numbers, those that are
 * not set left out, and times always with milliseconds. The same context gives the same bytes.
 */
export function injectedJson({ system, event, attachments, injectTime }: InjectedContext): string {
  const rest = JSON.stringify({
    event: event && {
      id: given(event.id),
      source: event.source === EventSource.UNSPECIFIED ? undefined : event.source,
      platform: given(event.platform),
      timezone: given(event.timezone),
      hooks: given(event.hooks),
      triggers: given(event.triggers),
      updates: given(event.updates),
      identity: given(event.identity),
      metadata: sorted(event.metadata),
    },
    attachments: given(
      attachments.map(({ path, firstLine, lastLine }) => ({
        path: given(path),
        firstLine: given(firstLine),
        lastLine: given(lastLine),
      })),
    ),
    injectTime: injectTime?.toISOString(),
  });
  if (!system) return rest;
  return rest === "{}"
    ? `{"system":${systemJson(system)}}`
    : `{"system":${systemJson(system)},${rest.slice(1)}`;
}

const systemJsons = new WeakMap<InjectedSystem, string>();

/** A system prompt is the same from one context to the next, and so is what it is made from. */
function systemJson(system: InjectedSystem): string {
  let json = systemJsons.get(system);
  if (json === undefined) {
    json = writeSystem(system);
    systemJsons.set(system, json);
  }
  return json;
}

function writeSystem(system: InjectedSystem): string {
  return JSON.stringify({
    role: system.role === AgentRole.UNSPECIFIED ? undefined : system.role,
    persona: system.persona && {
      capsule: given(system.persona.capsule),
      version: given(system.persona.version),
      hash: base64(system.persona.hash),
    },
    documents: given(
      system.documents.map(({ path, version, hash }) => ({
        path: given(path),
        version: given(version),
        hash: base64(hash),
      })),
    ),
    environment: system.environment && {
      capabilityCount: given(system.environment.capabilityCount),
      snapshotTime: system.environment.snapshotTime?.toISOString(),
      snapshotHash: base64(system.environment.snapshotHash),
    },
    memory: system.memory && { blocks: given(system.memory.blocks) },
    hash: base64(system.hash),
  });
}

function given<T extends string | number | readonly unknown[]>(value: T): T | undefined {
  const isSet = typeof value === "number" ? value !== 0 : value.length > 0;
  return isSet ? value : undefined;
}

function base64(bytes: Uint8Array): string | undefined {
  return bytes.length === 0 ? undefined : Buffer.from(bytes).toString("base64");
}

/** Maps have no order of their own. */
function sorted(tags: { readonly [key: string]: string }): object | undefined {
  const entries = Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
