import { type InputHash, InputKind } from "../../contract/gen/quire/v1/assembly.js";
import { sha256 } from "../../domain/hash.js";
import type { ContextBlock } from "../../memory/block-reader.js";
import { frameBlock, ownerName } from "../../memory/rendering/frame-block.js";
import type { ResolvedContext } from "../resolve/resolve.js";

/** What sections of the system prompt are called that are memory blocks. */
const sectionPrefix = "block ";

type NamedBlock = Pick<ContextBlock, "label" | "isShared" | "owner">;

/** What a block is called: no two of an agent have the same name. */
export function blockTitle({ label, isShared, owner }: NamedBlock): string {
  return `${label}${isShared ? ` from ${ownerName(owner)}` : ""}`;
}

/** What a block is called among the sections of the system prompt, and in the receipt. */
export function blockSection(block: NamedBlock): string {
  return `${sectionPrefix}${blockTitle(block)}`;
}

export function isBlockSection(name: string): boolean {
  return name.startsWith(sectionPrefix);
}

/** A block as this context shows it. */
export function shownBlock({ settings }: Pick<ResolvedContext, "settings">, block: ContextBlock): string {
  const { includeDescriptions: includeDescription, includeBlockSchemas: includeSchema } = settings;
  return frameBlock(block, { includeDescription, includeSchema });
}

/** What the receipt says of blocks: their revisions, and the hashes of what was shown. */
export function blockInputs(
  resolved: Pick<ResolvedContext, "settings">,
  blocks: readonly ContextBlock[],
): InputHash[] {
  return blocks.map((block) => ({
    kind: InputKind.BLOCK,
    name: blockTitle(block),
    version: block.revision,
    hash: sha256(Buffer.from(shownBlock(resolved, block))),
  }));
}

/** What there is to say of a block among the candidates. */
export function blockDetail({ revision, isOverLimit }: ContextBlock): string {
  return `revision ${revision}${isOverLimit ? "; over its character limit" : ""}`;
}
