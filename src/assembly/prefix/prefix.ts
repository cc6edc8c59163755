import type { ContextChange, PrefixUpdate } from "../../contract/gen/quire/v1/prompt_cache.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import type { SystemStage } from "../system/system.js";
import type { ToolsStage } from "../tools/tools.js";
import type { SectionUpdate } from "./section-update.js";

/** The system prompt that is sent, and how what changed in it is told. */
export interface Prefix {
  readonly system: SystemStage;
  /** What the current message has to tell. */
  readonly updates: readonly SectionUpdate[];
  readonly pinned: boolean;
  /** Why it is not the one of the context before, although that is warm. */
  readonly cause: ContextChange | undefined;
  /** What differs from the system prompt that is sent, told now or before. */
  readonly told: readonly PrefixUpdate[];
  readonly toldTokens: number;
  /** The first turn that carries some of it; empty when that is this context's. */
  readonly toldTurnId: string;
}

/** Whether tools and system prompt are those of the context before. */
export function isSamePrefix(
  { pin }: Pick<ResolvedContext, "pin">,
  tools: Pick<ToolsStage, "hash">,
  system: Pick<SystemStage, "hash">,
): boolean {
  const before = pin?.receipt.hashes;
  return before !== undefined && tools.hash.equals(before.tools) && system.hash.equals(before.system);
}
