import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../../src/config/package-root.js";
import { openaiMessage } from "../../../src/transcripts/export/openai.js";
import { Findings } from "../../../src/transcripts/findings.js";
import { importOpenai } from "../../../src/transcripts/import/openai.js";
import { found, requireLedgerTakes } from "../plan-shape.js";

interface ChatMessage {
  readonly role: string;
  readonly content: string | null;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: object }[];
}

const folder = process.env.QUIRE_EVAL_DATA ?? join(packageRoot, "..", "shared", "data");
const file = join(folder, "tau-bench", "airline-dev.json");

if (!existsSync(file)) {
  console.warn(`tau-bench trajectories: SKIPPED, there is no ${file} (QUIRE_EVAL_DATA names the folder)`);
}

/** Without what an import may change: ids that were used twice, and the order of keys. */
function comparable({ role, content, tool_calls }: ChatMessage) {
  return { role, content: content || null, calls: tool_calls?.map((call) => call.function) };
}

describe.skipIf(!existsSync(file))("tau-bench trajectories", () => {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "[]";
  const trajectories = JSON.parse(text) as readonly { readonly traj: readonly ChatMessage[] }[];

  it("become sessions that the ledger takes, every call with its result", () => {
    const plan = importOpenai(text, { label: "airline", given: true });
    requireLedgerTakes(plan);
    expect(plan.sessions).toHaveLength(trajectories.length);
    expect(found(plan, "tool calls that were never answered")).toBe(0);
    expect(found(plan, "tool results that answer no open call")).toBe(0);
  });

  it("come back from an export message by message", () => {
    const plan = importOpenai(text, { label: "airline", given: true });
    for (const [index, session] of plan.sessions.entries()) {
      const messages = session.turns.flatMap((turn) => turn.messages);
      const exported = messages.flatMap((message) =>
        openaiMessage(message, new Findings()),
      ) as readonly ChatMessage[];
      expect(exported.map(comparable)).toEqual(trajectories[index]?.traj.map(comparable));
      const calls = exported.flatMap(({ tool_calls }) => tool_calls?.map(({ id }) => id) ?? []);
      const answers = exported.flatMap(({ tool_call_id }) => tool_call_id ?? []);
      expect(answers).toEqual(calls);
    }
  });
});
