import { type ImportFormat, planImport } from "../src/transcripts/import/formats.js";
import type { PlannedTurn } from "../src/transcripts/import/transcript.js";
import { readEvalData } from "./eval-data.js";

/** Conversations of one kind, each as its turns. */
export interface Sessions {
  readonly kind: string;
  readonly threads: readonly (readonly PlannedTurn[])[];
}

const files: readonly {
  readonly kind: string;
  readonly path: string;
  readonly format: ImportFormat;
}[] = [
  { kind: "pi", path: "pi/before-compaction.jsonl", format: "pi-jsonl" },
  { kind: "claude-code", path: "claude-code/long.jsonl", format: "claude-code-jsonl" },
  { kind: "swe-agent", path: "swe-agent/pydicom-1458.traj", format: "swe-agent" },
  { kind: "tau-bench", path: "tau-bench/airline-dev.json", format: "openai" },
];
const mostThreads = 40;

/** The real sessions that are there, and the files that are not. */
export function readSessions(): {
  readonly sessions: readonly Sessions[];
  readonly missing: readonly string[];
} {
  const sessions: Sessions[] = [];
  const missing: string[] = [];
  for (const { kind, path, format } of files) {
    const text = readEvalData(path);
    if (text === undefined) missing.push(path);
    else {
      const plan = planImport({ format, text, stem: kind }, {});
      const threads = plan.sessions.filter(({ forkOf }) => forkOf === undefined).map(({ turns }) => turns);
      sessions.push({ kind, threads: threads.slice(0, mostThreads) });
    }
  }
  return { sessions, missing };
}
