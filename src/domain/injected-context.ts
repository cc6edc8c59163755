import type { AgentRole } from "./agent-role.js";
import type { EventSource } from "./event-source.js";

/** What a model was sent beside the content of a message: not what there was, but what went out. */
export interface InjectedContext {
  /** Undefined where it is no longer known. */
  readonly system: InjectedSystem | undefined;
  readonly event: InjectedEvent | undefined;
  readonly attachments: readonly InjectedAttachment[];
  readonly injectTime: Date | undefined;
}

/** What a system prompt was made from. */
export interface InjectedSystem {
  readonly role: AgentRole;
  readonly persona: InjectedPersona | undefined;
  readonly documents: readonly InjectedDocument[];
  readonly environment: InjectedEnvironment | undefined;
  readonly memory: InjectedMemory | undefined;
  readonly hash: Buffer;
}

export interface InjectedPersona {
  readonly capsule: string;
  readonly version: number;
  readonly hash: Buffer;
}

export interface InjectedDocument {
  readonly path: string;
  readonly version: number;
  readonly hash: Buffer;
}

export interface InjectedEnvironment {
  readonly capabilityCount: number;
  readonly snapshotTime: Date | undefined;
  readonly snapshotHash: Buffer;
}

export interface InjectedMemory {
  readonly blocks: readonly string[];
}

/** What a message carries before its own content. */
export interface InjectedEvent {
  readonly id: string;
  readonly source: EventSource;
  readonly platform: string;
  readonly timezone: string;
  readonly hooks: readonly string[];
  readonly triggers: readonly string[];
  readonly updates: readonly string[];
  readonly identity: string;
  readonly metadata: { readonly [key: string]: string };
}

export interface InjectedAttachment {
  readonly path: string;
  readonly firstLine: number;
  readonly lastLine: number;
}
