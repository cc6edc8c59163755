import { type CompactionSettings, mergeSettings } from "../../capsule/context-settings.js";
import type { HistoryGoal, Receipt } from "../../contract/gen/quire/v1/assembly.js";
import { ContextSettings } from "../../contract/gen/quire/v1/context_settings.js";
import { countedTokens } from "../../domain/token-units.js";
import { parseCutId } from "../../thread/history-cut.js";
import { type Vocabulary, vocabularyNamed } from "../../tokens/vocabulary.js";
import { type CompactionGoal, targetShare } from "../plan/goal.js";
import type { CompactionJob } from "./job.js";

/** What a context wanted of its history: after the next turn it will want about the same. */
export interface WantedHistory extends Pick<CompactionJob, "goal" | "goalId" | "clean" | "settings"> {
  /** What the goal is counted with. */
  readonly vocabulary: Vocabulary;
}

/** As a receipt keeps it. */
export function historyGoal({ goal, goalId, settings }: WantedHistory): HistoryGoal {
  const { targetTokens, roomTokens, fullRoomTokens, roomMessages, keepTurns } = goal;
  return {
    targetTokens,
    roomTokens: Math.max(0, roomTokens),
    fullRoomTokens: Math.max(0, fullRoomTokens),
    maxMessages: Number.isFinite(roomMessages) ? roomMessages : undefined,
    keepTurns,
    settings: storedSettings(settings),
    goal: goalId,
  };
}

/** What a past context wanted; undefined where its history is never compacted. */
export function wantedOf({
  cut,
  budget,
  historyLayer,
}: Pick<Receipt, "cut" | "budget" | "historyLayer">): WantedHistory | undefined {
  const { wanted } = cut ?? {};
  if (!wanted) return undefined;
  const roomMessages = wanted.maxMessages ?? Number.POSITIVE_INFINITY;
  const goal: CompactionGoal = {
    targetTokens: countedTokens(wanted.targetTokens),
    roomTokens: countedTokens(wanted.roomTokens),
    fullRoomTokens: countedTokens(wanted.fullRoomTokens),
    targetMessages: Math.floor(roomMessages * targetShare),
    roomMessages,
    keepTurns: wanted.keepTurns,
    keepAtMost: Number.POSITIVE_INFINITY,
  };
  return {
    goal,
    goalId: wanted.goal,
    clean: parseCutId(historyLayer?.cutId ?? "").clean,
    settings: mergeSettings(undefined, undefined, wanted.settings).compaction,
    vocabulary: vocabularyNamed(budget?.vocabulary),
  };
}

function storedSettings(settings: CompactionSettings): ContextSettings {
  const { strategy, summarizers, ...rest } = settings;
  return ContextSettings.create({
    ...rest,
    compressionStrategy: strategy,
    summarizers: { names: [...summarizers] },
  });
}
