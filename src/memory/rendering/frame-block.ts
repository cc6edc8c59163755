import { type BlockOwner, BlockPermission, type BlockSchema, OwnerKind } from "../../domain/memory.js";
import { schemaWords } from "../schema/schema-words.js";

export interface FramedBlock {
  readonly label: string;
  readonly owner: BlockOwner;
  readonly permission: BlockPermission;
  readonly isShared: boolean;
  readonly description: string;
  readonly schema: BlockSchema;
  readonly text: string;
}

export interface FrameOptions {
  readonly includeDescription: boolean;
  readonly includeSchema: boolean;
}

const permissionNames: Readonly<Record<BlockPermission, string>> = {
  [BlockPermission.UNSPECIFIED]: "ReadWrite",
  [BlockPermission.READ_ONLY]: "ReadOnly",
  [BlockPermission.PARTNER]: "Partner",
  [BlockPermission.HUMAN]: "Human",
  [BlockPermission.APPEND]: "Append",
  [BlockPermission.READ_WRITE]: "ReadWrite",
  [BlockPermission.ADMIN]: "Admin",
  [BlockPermission.UNRECOGNIZED]: "ReadOnly",
};

/** A permission as models and people read it. */
export function permissionName(permission: BlockPermission): string {
  return permissionNames[permission];
}

/** A block as a context shows it. Nothing in it can end it, or begin another one. */
export function frameBlock(block: FramedBlock, { includeDescription, includeSchema }: FrameOptions): string {
  const { label, permission, isShared, owner } = block;
  const from = isShared ? ` shared_from="${attribute(ownerName(owner))}"` : "";
  const parts = [
    ...(includeDescription && block.description.trim() !== "" ? [block.description.trim()] : []),
    ...(includeSchema ? [schemaWords(block.schema)] : []),
    ...(block.text === "" ? [] : [block.text]),
  ];
  const inside = parts.length === 0 ? "" : `${unlikeFrames(parts.join("\n\n"))}\n`;
  return `<block:${label} permission="${permissionName(permission)}"${from}>\n${inside}</block:${label}>`;
}

/** An owner as it is shown: an agent by its name alone. */
export function ownerName({ kind, name }: BlockOwner): string {
  switch (kind) {
    case OwnerKind.PERSON:
      return `person ${name}`;
    case OwnerKind.TEAM:
      return `team ${name}`;
    case OwnerKind.PROJECT:
      return `project ${name}`;
    default:
      return name;
  }
}

/** What looks like the tag of a block, with whatever spaces and unseen characters are in it, is shown as text. */
export function unlikeFrames(text: string): string {
  if (!text.includes("<")) return text;
  return text.replace(
    /<(?=[\s\p{Cf}]*\/?[\s\p{Cf}]*b[\p{Cf}]*l[\p{Cf}]*o[\p{Cf}]*c[\p{Cf}]*k[\s\p{Cf}]*:)/giu,
    "&lt;",
  );
}

function attribute(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, " ")
    .replaceAll("&", "&amp;")
    .replaceAll('"', "&quot;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
