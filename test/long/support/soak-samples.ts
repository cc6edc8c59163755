import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../../src/storage/driver/database-sync.js";
import type { ChildServer } from "../../server/child-server.js";

const megabyte = 1024 * 1024;

/** What the server holds at a moment at which nobody calls it. */
export interface SoakSample {
  readonly seconds: number;
  readonly calls: number;
  readonly heapMb: number;
  readonly rssMb: number;
  readonly handles: number;
  readonly files: number;
  readonly databaseMb: number;
  readonly walMb: number;
}

export async function takeSample(server: ChildServer, seconds: number, calls: number): Promise<SoakSample> {
  const { heapUsed, external, rss, handles } = await server.memory();
  return {
    seconds,
    calls,
    heapMb: (heapUsed + external) / megabyte,
    rssMb: rss / megabyte,
    handles,
    files: readdirSync(`/proc/${server.pid}/fd`).length,
    databaseMb: databaseBytes(join(server.folder, "quire.db")) / megabyte,
    walMb: statSync(join(server.folder, "quire.db-wal")).size / megabyte,
  };
}

/** What the database file comes to with all that its log still holds. */
function databaseBytes(file: string): number {
  const database = openDatabase(file);
  try {
    const pragma = (name: string) =>
      Number(Object.values(database.prepare(`PRAGMA ${name}`).all()[0] as object)[0]);
    return pragma("page_count") * pragma("page_size");
  } finally {
    database.close();
  }
}

/** What counts as no more: the log of SQLite is written round and round within 8,000 pages. */
const least: Partial<Record<keyof SoakSample, number>> = { walMb: (8_000 * 4_120) / megabyte };

/** Each quantity at the end against the middle: medians of the samples of a fifth of the time. */
export function growth(
  samples: readonly SoakSample[],
): { name: string; middle: number; end: number; ratio: number }[] {
  const fifth = Math.floor(samples.length / 5);
  const middle = samples.slice(2 * fifth, 3 * fifth);
  const end = samples.slice(-fifth);
  const names = ["heapMb", "rssMb", "handles", "files", "databaseMb", "walMb"] as const;
  return names.map((name) => {
    const [was, is] = [median(middle, name), median(end, name)];
    return { name, middle: was, end: is, ratio: is / Math.max(was, least[name] ?? 0) };
  });
}

function median(samples: readonly SoakSample[], name: keyof SoakSample): number {
  return samples.map((sample) => sample[name]).toSorted((a, b) => a - b)[samples.length >> 1]!;
}

export function table(rows: readonly object[]): string {
  const names = Object.keys(rows[0]!);
  const shown = (value: unknown) =>
    typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 2 }) : String(value);
  const lines = [names, ...rows.map((row) => Object.values(row).map(shown))];
  return lines.map((cells) => cells.map((cell) => cell.padStart(12)).join("")).join("\n");
}
