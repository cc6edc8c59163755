import type { CompactionSettings } from "../../capsule/context-settings.js";
import { CompressionStrategy } from "../../domain/context-settings.js";
import { sha256 } from "../../domain/hash.js";
import type { PromptTexts } from "../../domain/prompt-texts.js";

/** What a summary is made from, and how. */
interface SummaryOrigin {
  /** Of the last turn that is summarized as a whole: it stands for all before it. */
  readonly chainHash: Uint8Array | null | undefined;
  readonly firstKeptTurnId: string;
  readonly firstKeptMessageIndex: number;
  readonly settings: Pick<CompactionSettings, "strategy" | "summarizationModel" | "halfLifeTurns">;
  readonly summarizer: string;
  readonly texts: PromptTexts;
  readonly instructions: string;
}

/** Words that a summary is asked for or written with. */
const isSummaryText = (name: string) => /^(summary|transcript|extract)/.test(name);

/** Stands for a summary of the same turns, made in the same way: such a one is not paid for again, however long it was to be. */
export function reuseKey(origin: SummaryOrigin): Buffer {
  const { settings, summarizer, texts, instructions, firstKeptMessageIndex: index } = origin;
  const words = Object.entries(texts).filter(([name]) => isSummaryText(name));
  const parts = [
    Buffer.from(origin.chainHash ?? []).toString("hex"),
    // Whoever splits a turn summarizes a part of that very turn.
    index > 0 ? `${origin.firstKeptTurnId}/${index}` : "",
    settings.strategy,
    settings.strategy === CompressionStrategy.TIME_DECAY ? settings.halfLifeTurns : 0,
    summarizer,
    settings.summarizationModel,
    words,
    instructions,
  ];
  return sha256(Buffer.from(JSON.stringify(parts)));
}
