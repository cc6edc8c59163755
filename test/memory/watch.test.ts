import { describe, expect, test, vi } from "vitest";
import type { WatchBlocksResponse } from "../../src/contract/gen/quire/v1/memory_service.js";
import type { Quire } from "../../src/index.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { testQuire } from "../in-process/quire-fixture.js";
import { asEntropy, asFlux, entropy, named, op, putBlock, setText, textOf } from "./memory-quire.js";

/** The events of a watch, one by one, in short. */
function watching(quire: Quire, request: object = {}) {
  const abort = new AbortController();
  const events = quire.memory.watchBlocks({ owner: entropy, ...request }, { signal: abort.signal });
  const iterator = events[Symbol.asyncIterator]();
  return {
    async next(): Promise<string> {
      const { value } = (await iterator.next()) as { value: WatchBlocksResponse };
      const event = value.event!;
      if (event.$case === "watching")
        return `watching ${event.value.blocks.map(({ label, revision }) => `${label} ${revision}`).join(", ")}`;
      if (event.$case === "deleted") return `deleted ${event.value.label}`;
      const { label, revision } = event.value;
      return `${label} ${revision!.revision} by ${revision!.actor!.name || "system"}: ${revision!.summary}`;
    },
    async end() {
      abort.abort();
      await iterator.next().catch(() => undefined);
    },
  };
}

const append = (quire: Quire, label: string, text: string, actor?: typeof asEntropy) =>
  quire.memory.updateBlock({
    block: named(label),
    ...(actor ? { actor } : {}),
    operations: [op("appendText", { text })] as never,
  });

describe("watch", () => {
  test("tells of every revision, new blocks and deleted ones, in order", async () => {
    const quire = await testQuire();
    await putBlock(quire, "notes", textOf, [setText("a")]);
    const watch = watching(quire);
    expect(await watch.next()).toBe("watching notes 1");
    await append(quire, "notes", "b", asEntropy);
    await append(quire, "notes", "c");
    expect(await watch.next()).toBe("notes 2 by entropy: append_text");
    expect(await watch.next()).toBe("notes 3 by system: append_text");
    await putBlock(quire, "other", textOf);
    expect(await watch.next()).toBe("other 1 by system: created");
    await quire.memory.deleteBlock({ block: named("notes") });
    expect(await watch.next()).toBe("deleted notes");
    await watch.end();
  });

  test("resumes after a revision, and is told what it missed, however much that is", async () => {
    const quire = await testQuire();
    await putBlock(quire, "notes", textOf);
    for (let at = 0; at < 150; at++) await append(quire, "notes", "x");
    const watch = watching(quire, { label: "notes", after: [{ label: "notes", revision: 3 }] });
    expect(await watch.next()).toBe("watching notes 151");
    for (let revision = 4; revision <= 151; revision++)
      expect(await watch.next()).toBe(`notes ${revision} by system: append_text`);
    await watch.end();
  });

  test("an agent sees what is shared with it, until it is not", async () => {
    const quire = await testQuire();
    await putBlock(quire, "notes", textOf);
    await putBlock(quire, "private", textOf);
    await quire.memory.shareBlock({ block: named("notes"), agent: "flux" });
    const watch = watching(quire, { actor: asFlux });
    expect(await watch.next()).toBe("watching notes 1");
    await append(quire, "private", "x");
    await append(quire, "notes", "x");
    expect(await watch.next()).toBe("notes 2 by system: append_text");
    await quire.memory.unshareBlock({ block: named("notes"), agent: "flux" });
    expect(await watch.next()).toBe("deleted notes");
    await watch.end();
  });

  test("what another server writes is found by a look at the database", async () => {
    const one = await openedEngine();
    await putBlock(one.quire, "notes", textOf);
    const two = await openedEngine({ database: one.config.database });
    const watch = watching(one.quire);
    expect(await watch.next()).toBe("watching notes 1");
    await one.engine.memory.watches.poll();
    await append(two.quire, "notes", "x");
    const next = watch.next();
    await one.engine.memory.watches.poll();
    expect(await next).toBe("notes 2 by system: append_text");
    await watch.end();
    await vi.waitFor(() => expect(one.engine.memory.watches.size).toBe(0));
  });
});
