import { fromMicroseconds } from "../../domain/clock.js";
import { ActorKind, RevisionKind } from "../../domain/memory.js";
import { fill, type PromptTexts } from "../../domain/prompt-texts.js";
import { TaskStatus } from "../../domain/session.js";
import type { RecentChange } from "../../memory/block-reader.js";
import { unlikeFrames } from "../../memory/rendering/frame-block.js";
import type { ActivityEntry, RecentActivity } from "../resolve/recent-activity.js";
import { blockTitle } from "../system/memory-blocks.js";
import { oneLine } from "./one-line.js";

/** What happened lately, a line each; what an operator took away is left out. */
export function activityEntries(texts: PromptTexts, { entries }: RecentActivity): readonly string[] {
  return entries.map((entry) => unlikeFrames(entryText(texts, entry))).filter((text) => text.trim() !== "");
}

function entryText(texts: PromptTexts, entry: ActivityEntry): string {
  const time = fromMicroseconds(entry.atUs).toISOString();
  if (entry.$case === "change") {
    const { change } = entry;
    return fill(texts[changeTexts[change.kind] ?? "activity-changed"], {
      time,
      who: whoOf(texts, change),
      block: blockTitle(change),
    });
  }
  const { label, taskStatus } = entry.turn;
  const status = taskWords[(taskStatus ?? "") as TaskStatus] ?? taskWords[TaskStatus.PENDING]!;
  return fill(texts["activity-turn"], { time, session: oneLine(label), status });
}

const changeTexts: Partial<Record<RevisionKind, keyof PromptTexts & `activity-${string}`>> = {
  [RevisionKind.CREATE]: "activity-created",
  [RevisionKind.CONFIGURE]: "activity-configured",
  [RevisionKind.RESTORE]: "activity-restored",
};

const taskWords: Partial<Record<TaskStatus, string>> = {
  [TaskStatus.PENDING]: "pending",
  [TaskStatus.RUNNING]: "running",
  [TaskStatus.COMPLETED]: "completed",
  [TaskStatus.FAILED]: "failed",
  [TaskStatus.CANCELLED]: "cancelled",
};

function whoOf(texts: PromptTexts, { actor }: RecentChange): string {
  const name = oneLine(actor.name);
  switch (actor.kind) {
    case ActorKind.AGENT:
      return fill(texts["activity-agent"], { name });
    case ActorKind.SYSTEM:
      return texts["activity-system"];
    case ActorKind.PARTNER:
      return name === "" ? texts["activity-partner"] : name;
    default:
      return name === "" ? texts["activity-human"] : name;
  }
}
