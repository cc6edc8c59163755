import { importAnthropic } from "./anthropic.js";
import { importClaudeCodeJsonl } from "./claude-code-jsonl.js";
import { labelFrom } from "./label.js";
import { importOpenai } from "./openai.js";
import { importPiJsonl } from "./pi-jsonl.js";
import { importQuireJsonl } from "./quire-jsonl.js";
import { importSweAgent } from "./swe-agent.js";
import type { Importer, ImportPlan } from "./transcript.js";

const importers = {
  openai: importOpenai,
  anthropic: importAnthropic,
  "pi-jsonl": importPiJsonl,
  "claude-code-jsonl": importClaudeCodeJsonl,
  "swe-agent": importSweAgent,
  "quire-jsonl": importQuireJsonl,
} as const satisfies Readonly<Record<string, Importer>>;

export type ImportFormat = keyof typeof importers;
export const importFormats = Object.keys(importers) as readonly ImportFormat[];

export interface ImportFile {
  readonly format: ImportFormat;
  readonly text: string;
  /** The file's name without folder and ending. */
  readonly stem: string;
  /** The label that the caller wants. */
  readonly session?: string | undefined;
}

/** What a file becomes. Sessions of other formats than our own say which file they came from. */
export function planImport(file: ImportFile, provenance: Readonly<Record<string, string>>): ImportPlan {
  const label = file.session ?? labelFrom(file.stem, file.format);
  const plan = importers[file.format](file.text, { label, given: file.session !== undefined });
  if (file.format === "quire-jsonl") return plan;
  const sessions = plan.sessions.map((session) => ({
    ...session,
    metadata: { ...Object.fromEntries(Object.entries(session.metadata).slice(0, 60)), ...provenance },
  }));
  const empty = sessions
    .filter(({ turns, forkOf }) => turns.length === 0 && !forkOf)
    .map(({ label: name }) => name);
  const finding = { what: "conversations without messages, sessions without turns", count: empty.length };
  return {
    sessions,
    findings:
      empty.length === 0 ? plan.findings : [...plan.findings, { ...finding, where: empty.slice(0, 3) }],
  };
}
