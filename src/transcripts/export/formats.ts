import { exportAnthropic } from "./anthropic.js";
import type { Exporter } from "./exporter.js";
import { exportOpenai } from "./openai.js";
import { exportQuireJsonl } from "./quire-jsonl.js";

export const exporters = {
  "quire-jsonl": exportQuireJsonl,
  openai: exportOpenai,
  anthropic: exportAnthropic,
} as const satisfies Readonly<Record<string, Exporter>>;

export type ExportFormat = keyof typeof exporters;
export const exportFormats = Object.keys(exporters) as readonly ExportFormat[];
