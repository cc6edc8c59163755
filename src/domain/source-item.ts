/** What an item of a built-in source is. */
export const SourceItemKind = {
  UNSPECIFIED: "SOURCE_ITEM_KIND_UNSPECIFIED",
  ENTITY: "SOURCE_ITEM_KIND_ENTITY",
  RELATION: "SOURCE_ITEM_KIND_RELATION",
  PREFERENCE: "SOURCE_ITEM_KIND_PREFERENCE",
  KNOWN_FAILURE: "SOURCE_ITEM_KIND_KNOWN_FAILURE",
  FACT: "SOURCE_ITEM_KIND_FACT",
  PROCEDURE: "SOURCE_ITEM_KIND_PROCEDURE",
  RULE: "SOURCE_ITEM_KIND_RULE",
  FEW_SHOT: "SOURCE_ITEM_KIND_FEW_SHOT",
  SKILL: "SOURCE_ITEM_KIND_SKILL",
  MAIL: "SOURCE_ITEM_KIND_MAIL",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type SourceItemKind = (typeof SourceItemKind)[keyof typeof SourceItemKind];

export const SeriesKind = {
  UNSPECIFIED: "SERIES_KIND_UNSPECIFIED",
  VALUE: "SERIES_KIND_VALUE",
  DOMAIN: "SERIES_KIND_DOMAIN",
  SKILL: "SERIES_KIND_SKILL",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type SeriesKind = (typeof SeriesKind)[keyof typeof SeriesKind];

export interface KnowledgeEntity {
  readonly name: string;
  readonly type: string;
  readonly aliases: readonly string[];
  readonly description: string;
}

export interface KnowledgeRelation {
  readonly from: string;
  readonly relation: string;
  readonly to: string;
}

export interface WorldFact {
  readonly entity: string;
  readonly text: string;
}

export interface Procedure {
  readonly title: string;
  readonly steps: string;
}

export interface BehavioralRule {
  readonly text: string;
  readonly priority: number;
}

export interface FewShot {
  readonly user: string;
  readonly assistant: string;
  readonly order: number;
}

export interface SkillGuide {
  readonly name: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly guide: string;
}

export interface MailSummary {
  readonly sender: string;
  readonly subject: string;
  readonly summary: string;
  readonly receiveTime: Date | undefined;
}

/** What an item holds, by its kind. */
export type ItemContent =
  | { readonly $case: "entity"; readonly value: KnowledgeEntity }
  | { readonly $case: "relation"; readonly value: KnowledgeRelation }
  | { readonly $case: "preference"; readonly value: { readonly text: string } }
  | { readonly $case: "knownFailure"; readonly value: { readonly name: string } }
  | { readonly $case: "fact"; readonly value: WorldFact }
  | { readonly $case: "procedure"; readonly value: Procedure }
  | { readonly $case: "rule"; readonly value: BehavioralRule }
  | { readonly $case: "fewShot"; readonly value: FewShot }
  | { readonly $case: "skill"; readonly value: SkillGuide }
  | { readonly $case: "mail"; readonly value: MailSummary };

/** Something that a built-in source knows. */
export interface SourceItem {
  readonly key: string;
  readonly item: ItemContent | undefined;
  readonly expireTime: Date | undefined;
  readonly updateTime: Date | undefined;
}

/** One value of a series. */
export interface Observation {
  readonly kind: SeriesKind;
  readonly name: string;
  readonly value: number;
  readonly display: string;
  readonly unit: string;
  readonly observeTime: Date | undefined;
  readonly expireTime: Date | undefined;
}

/** Where a plug-in is. */
export interface SourceEndpoint {
  readonly address: string;
  readonly tls: { readonly caPem: string; readonly serverName: string } | undefined;
  readonly maxAnswerBytes: number;
}
