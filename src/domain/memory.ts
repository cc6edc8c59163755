export const BlockType = {
  UNSPECIFIED: "BLOCK_TYPE_UNSPECIFIED",
  CORE: "BLOCK_TYPE_CORE",
  WORKING: "BLOCK_TYPE_WORKING",
  ARCHIVAL: "BLOCK_TYPE_ARCHIVAL",
  LOG: "BLOCK_TYPE_LOG",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type BlockType = (typeof BlockType)[keyof typeof BlockType];

export const BlockPermission = {
  UNSPECIFIED: "BLOCK_PERMISSION_UNSPECIFIED",
  READ_ONLY: "BLOCK_PERMISSION_READ_ONLY",
  PARTNER: "BLOCK_PERMISSION_PARTNER",
  HUMAN: "BLOCK_PERMISSION_HUMAN",
  APPEND: "BLOCK_PERMISSION_APPEND",
  READ_WRITE: "BLOCK_PERMISSION_READ_WRITE",
  ADMIN: "BLOCK_PERMISSION_ADMIN",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type BlockPermission = (typeof BlockPermission)[keyof typeof BlockPermission];

export const OwnerKind = {
  UNSPECIFIED: "OWNER_KIND_UNSPECIFIED",
  AGENT: "OWNER_KIND_AGENT",
  PERSON: "OWNER_KIND_PERSON",
  TEAM: "OWNER_KIND_TEAM",
  PROJECT: "OWNER_KIND_PROJECT",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type OwnerKind = (typeof OwnerKind)[keyof typeof OwnerKind];

export const ActorKind = {
  UNSPECIFIED: "ACTOR_KIND_UNSPECIFIED",
  AGENT: "ACTOR_KIND_AGENT",
  PARTNER: "ACTOR_KIND_PARTNER",
  HUMAN: "ACTOR_KIND_HUMAN",
  SYSTEM: "ACTOR_KIND_SYSTEM",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type ActorKind = (typeof ActorKind)[keyof typeof ActorKind];

export const FieldType = {
  UNSPECIFIED: "FIELD_TYPE_UNSPECIFIED",
  TEXT: "FIELD_TYPE_TEXT",
  NUMBER: "FIELD_TYPE_NUMBER",
  BOOLEAN: "FIELD_TYPE_BOOLEAN",
  LIST: "FIELD_TYPE_LIST",
  TIMESTAMP: "FIELD_TYPE_TIMESTAMP",
  COUNTER: "FIELD_TYPE_COUNTER",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type FieldType = (typeof FieldType)[keyof typeof FieldType];

export const RevisionKind = {
  UNSPECIFIED: "REVISION_KIND_UNSPECIFIED",
  CREATE: "REVISION_KIND_CREATE",
  UPDATE: "REVISION_KIND_UPDATE",
  CONFIGURE: "REVISION_KIND_CONFIGURE",
  RESTORE: "REVISION_KIND_RESTORE",
  SYNC: "REVISION_KIND_SYNC",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type RevisionKind = (typeof RevisionKind)[keyof typeof RevisionKind];

export interface BlockOwner {
  readonly kind: OwnerKind;
  readonly name: string;
}

export interface BlockActor {
  readonly kind: ActorKind;
  readonly name: string;
}

export interface BlockName {
  readonly owner: BlockOwner | undefined;
  readonly label: string;
}

/** A labelled document of an agent, as a caller sees it. */
export interface Block {
  readonly id: string;
  readonly owner: BlockOwner | undefined;
  readonly label: string;
  readonly type: BlockType;
  readonly pinned: boolean;
  readonly description: string;
  readonly permission: BlockPermission;
  readonly charLimit: number;
  readonly schema: BlockSchema | undefined;
  readonly revision: number;
  readonly shared: boolean;
  readonly text: string;
  readonly rendered: string;
  readonly chars: number;
  readonly o200kTokens: number;
  readonly hash: Buffer;
  readonly createTime: Date | undefined;
  readonly updateTime: Date | undefined;
  readonly contentJson: string;
}

interface Case<Name extends string, Value> {
  readonly $case: Name;
  readonly value: Value;
}

export type PlainSchema =
  | Case<"text", TextSchema>
  | Case<"map", MapSchema>
  | Case<"list", ListSchema>
  | Case<"log", LogSchema>;

export interface BlockSchema {
  readonly schema: PlainSchema | Case<"composite", CompositeSchema> | undefined;
}

export interface TextSchema {
  readonly viewport: Viewport | undefined;
}

export interface Viewport {
  readonly startLine: number;
  readonly displayLines: number;
}

export interface MapSchema {
  readonly fields: readonly FieldSchema[];
}

export interface FieldSchema {
  readonly name: string;
  readonly type: FieldType;
  readonly description: string;
  readonly required: boolean;
  readonly defaultJson: string;
  readonly readOnly: boolean;
}

export interface ListSchema {
  readonly item: MapSchema | undefined;
  readonly maxItems: number;
}

export interface LogSchema {
  readonly displayLimit: number;
  readonly fields: readonly FieldSchema[];
  readonly timestamp: boolean;
  readonly agent: boolean;
}

export interface CompositeSchema {
  readonly sections: readonly SectionSchema[];
}

export interface SectionSchema {
  readonly name: string;
  readonly description: string;
  readonly readOnly: boolean;
  readonly schema: PlainSchema | undefined;
}

export type Operation =
  | Case<"setText", { readonly text: string }>
  | Case<"appendText", { readonly text: string }>
  | Case<"replaceText", { readonly oldText: string; readonly newText: string; readonly once: boolean }>
  | Case<"insertText", { readonly text: string; readonly afterLine: number }>
  | Case<"setField", { readonly field: string; readonly valueJson: string }>
  | Case<"appendToField", { readonly field: string; readonly valueJson: string }>
  | Case<"incrementCounter", { readonly field: string; readonly by: number }>
  | Case<"pushItem", { readonly valueJson: string }>
  | Case<"insertItem", { readonly index: number; readonly valueJson: string }>
  | Case<"setItem", { readonly index: number; readonly valueJson: string }>
  | Case<"deleteItem", { readonly index: number }>
  | Case<"appendEntry", { readonly entryJson: string }>;

export interface BlockOperation {
  readonly section: string;
  readonly operation: Operation | undefined;
}

export interface OperationResult {
  readonly matched: boolean;
  readonly counter: number;
}

export interface BlockRevision {
  readonly revision: number;
  readonly kind: RevisionKind;
  readonly actor: BlockActor | undefined;
  readonly summary: string;
  readonly createTime: Date | undefined;
  readonly hash: Buffer;
  readonly update: Buffer;
}

export interface BlockShare {
  readonly agent: string;
  readonly permission: BlockPermission;
  readonly createTime: Date | undefined;
}

export interface ArchivalEntry {
  readonly id: string;
  readonly owner: BlockOwner | undefined;
  readonly content: string;
  readonly metadataJson: string;
  readonly createTime: Date | undefined;
  readonly actor: BlockActor | undefined;
  readonly o200kTokens: number;
}

/** A value of JSON. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
