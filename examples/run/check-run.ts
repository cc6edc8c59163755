import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect, type Message, type Quire } from "quire-client";
import type { FakeProvider } from "../provider/provider.js";
import type { LongRunResult } from "./long-run.js";
import { factOf, isDelegated, isRemembered, messageOf } from "./messages.js";
import type { ServedQuire } from "./served-quire.js";

/** What must be true after a run: no refusal but for length, no turn lost or doubled, every worker done, every fact remembered once. */
export async function checkRun(
  served: ServedQuire,
  providers: readonly FakeProvider[],
  turns: number,
  folder: string,
): Promise<LongRunResult> {
  const quire = connect(served.address);
  try {
    const all = Array.from({ length: turns }, (_, turn) => turn);
    const overflows = providers.reduce((sum, provider) => sum + provider.overflows, 0);
    const refusals = providers.flatMap((provider) => provider.refusals);
    assert.equal(refusals.length, overflows, refusals.join("\n"));
    assert.deepEqual(await wordsOf(quire), all.map(messageOf));
    const { session } = await quire.ledger.getSession({ session: "long-run" });
    assert.equal(session!.depth, turns);
    const delegated = all.filter(isDelegated).length;
    const done = { parentSession: "long-run", taskStatus: "TASK_STATUS_COMPLETED", pageSize: 1_000 } as const;
    const { sessions: workers } = await quire.ledger.listSessions(done);
    assert.equal(workers.length, delegated);
    const { block } = await quire.memory.getBlock({ block: { owner: { name: "clerk" }, label: "notes" } });
    assert.equal(block!.text, all.filter(isRemembered).map(factOf).join("\n"));
    const last = turns - 1 - ((turns - 1) % 10);
    assert.equal(await readFile(join(folder, "files", "log.txt"), "utf8"), `Turn ${last}.`);
    const shares = providers.map(({ name, totals }) => [name, totals.cached / totals.input] as const);
    return {
      turns,
      modelCalls: providers.reduce((sum, provider) => sum + provider.answered, 0),
      workers: workers.length,
      overflows,
      kills: served.kills,
      cacheShare: Object.fromEntries(shares),
    };
  } finally {
    quire.close();
  }
}

/** What the user said, in order. */
async function wordsOf(quire: Quire): Promise<string[]> {
  const words: string[] = [];
  const thread = { $case: "session", value: "long-run" } as const;
  for await (const { messages } of quire.ledger.streamHistory({ thread }))
    words.push(...messages.filter((message) => message.role === "MESSAGE_ROLE_USER").map(textOf));
  return words;
}

function textOf({ parts }: Message): string {
  return parts.map(({ content }) => (content?.$case === "text" ? content.value.text : "")).join("");
}
