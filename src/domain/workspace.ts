export const DocumentKind = {
  UNSPECIFIED: "DOCUMENT_KIND_UNSPECIFIED",
  RULES: "DOCUMENT_KIND_RULES",
  USER_IDENTITY: "DOCUMENT_KIND_USER_IDENTITY",
  SOUL: "DOCUMENT_KIND_SOUL",
  AGENT_IDENTITY: "DOCUMENT_KIND_AGENT_IDENTITY",
  OTHER: "DOCUMENT_KIND_OTHER",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type DocumentKind = (typeof DocumentKind)[keyof typeof DocumentKind];

export const CapabilityState = {
  UNSPECIFIED: "CAPABILITY_STATE_UNSPECIFIED",
  ACTIVE: "CAPABILITY_STATE_ACTIVE",
  READY: "CAPABILITY_STATE_READY",
  NEEDS_SETUP: "CAPABILITY_STATE_NEEDS_SETUP",
  BROKEN: "CAPABILITY_STATE_BROKEN",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type CapabilityState = (typeof CapabilityState)[keyof typeof CapabilityState];

export const ToolKind = {
  UNSPECIFIED: "TOOL_KIND_UNSPECIFIED",
  MESSAGING: "TOOL_KIND_MESSAGING",
  REPLY: "TOOL_KIND_REPLY",
  SPAWN: "TOOL_KIND_SPAWN",
  OTHER: "TOOL_KIND_OTHER",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type ToolKind = (typeof ToolKind)[keyof typeof ToolKind];

/** Where an agent works. Its documents are without their content. */
export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly runtime: RuntimeFacts | undefined;
  readonly documents: readonly Document[];
  readonly capabilityCount: number;
  readonly toolsets: readonly string[];
  readonly createTime: Date | undefined;
  readonly updateTime: Date | undefined;
}

/** The static facts of a machine. */
export interface RuntimeFacts {
  readonly host: string;
  readonly os: string;
  readonly arch: string;
}

/** One version of a document. */
export interface Document {
  readonly path: string;
  readonly kind: DocumentKind;
  readonly content: string;
  readonly version: number;
  readonly hash: Buffer;
  readonly sizeBytes: number;
  readonly o200kTokens: number;
  readonly updateTime: Date | undefined;
}

/** One thing that an agent can do, or could. */
export interface Capability {
  readonly name: string;
  readonly category: string;
  readonly state: CapabilityState;
  readonly reason: string;
  readonly hint: string;
}

/** What an agent can do at a moment. */
export interface CapabilitySnapshot {
  readonly capabilities: readonly Capability[];
  readonly credentialsConfigured: number;
  readonly credentialsBroken: readonly string[];
  readonly hash: Buffer;
  readonly snapshotTime: Date | undefined;
}

/** A tool that a model can call. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchemaJson: string;
  readonly kind: ToolKind;
  readonly capability: string;
  readonly requiredPermissions: readonly string[];
  readonly dangerous: boolean;
}

export const LoopRule = {
  UNSPECIFIED: "LOOP_RULE_UNSPECIFIED",
  EXIT: "LOOP_RULE_EXIT",
  CONTINUE: "LOOP_RULE_CONTINUE",
  START: "LOOP_RULE_START",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type LoopRule = (typeof LoopRule)[keyof typeof LoopRule];

/** A rule for the order in which tools are called. */
export interface ToolRule {
  readonly tool: string;
  readonly rule:
    | { readonly $case: "loop"; readonly value: LoopRule }
    | { readonly $case: "maxCalls"; readonly value: number }
    | { readonly $case: "requiresPrior"; readonly value: string }
    | undefined;
}

/** A named list of tools. */
export interface Toolset {
  readonly name: string;
  readonly tools: readonly Tool[];
  readonly rules: readonly ToolRule[];
  readonly version: number;
  readonly hash: Buffer;
  readonly o200kTokens: number;
  readonly updateTime: Date | undefined;
}
