import type { Findings } from "../import/findings.js";
import { exportAnthropic } from "./anthropic.js";
import { exportOpenai } from "./openai.js";
import { exportQuireJsonl } from "./quire-jsonl.js";
import type { Thread } from "./thread.js";

/** Gives the text of an export, piece by piece. What the format cannot hold is reported. */
export type Exporter = (thread: Thread, findings: Findings) => AsyncIterable<string>;

export const exporters = {
  "quire-jsonl": exportQuireJsonl,
  openai: exportOpenai,
  anthropic: exportAnthropic,
} as const satisfies Readonly<Record<string, Exporter>>;

export type ExportFormat = keyof typeof exporters;
export const exportFormats = Object.keys(exporters) as readonly ExportFormat[];
