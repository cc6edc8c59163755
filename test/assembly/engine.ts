import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createQuire, type Quire, type QuireConfig } from "../../src/index.js";

/** The moment at which every test assembles. */
export const testNow = Date.UTC(2026, 0, 15, 9, 30);

/** A UUID of the right form that says only which one in order it is. */
export function countedId(count: number): string {
  return `0198c0de-0000-7000-8000-${count.toString(16).padStart(12, "0")}`;
}

export interface TestQuire extends Quire {
  readonly folder: string;
}

/** The engine on a database of its own, with ids that are counted and a clock that stands still, unless one is given. */
export async function openTestQuire(
  config: Partial<QuireConfig> = {},
  now: () => number = () => testNow,
): Promise<TestQuire> {
  const folder = mkdtempSync(join(tmpdir(), "quire-test-"));
  let count = 0;
  const quire = await createQuire(
    { database: `file:${join(folder, "quire.db")}`, logLevel: "silent", ...config },
    { clock: { now }, ids: { next: () => countedId(++count) } },
  );
  return {
    ...quire,
    folder,
    async close() {
      await quire.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
