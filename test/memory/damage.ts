import { expect } from "vitest";
import type { Quire } from "../../src/index.js";
import { mutated, randomFrom } from "./hostile-updates.js";
import { LoroClient } from "./loro-client.js";
import { asEntropy, named, textNow } from "./memory-quire.js";

/** Sends so many damaged updates. What is taken all the same must be a text; everything goes on. */
export async function damage(quire: Quire, count: number, seed: number): Promise<void> {
  const client = await new LoroClient(quire, "target").open();
  for (let at = 0; at < 40; at++) client.doc.getText("text").insert(at % 5, `word ${at} `);
  client.doc.getText("text").delete(3, 7);
  const good = client.pending();
  const random = randomFrom(seed);
  let taken = 0;
  for (let at = 0; at < count; at++) {
    const outcome = await quire.memory
      .syncBlock({ block: named("target"), actor: asEntropy, update: Buffer.from(mutated(good, random)) })
      .then(
        () => "taken",
        (error: { reason?: string }) => error.reason,
      );
    if (outcome === "taken") taken++;
    else expect(["UPDATE_REFUSED", "BLOCK_LIMIT_EXCEEDED"]).toContain(outcome);
  }
  expect(taken).toBeLessThan(count / 10);
  await client.sync();
  expect(await textNow(quire, "target")).toContain("word");
}
