import { type BigIntStats, constants, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { systemTimers, type Timers } from "../domain/clock.js";
import type { Soon } from "../domain/soon.js";

/** A file as it was last found. */
interface Found {
  readonly stamp: string;
  /** The last text that could be used; undefined where there never was one, or the file is gone. */
  readonly text: string | undefined;
  /** Why the file as it is now is not used; empty where it is. */
  readonly problem: string;
}

/** Texts of an operator, all from one look at their files. */
export interface TextsFound {
  /** By path; what has no file is not in it. */
  readonly texts: ReadonlyMap<string, string>;
  /** By path, for files that cannot be used. */
  readonly problems: ReadonlyMap<string, string>;
}

export interface WatchedTextsOptions {
  readonly maxBytes: number;
  readonly timers?: Timers;
  /** Told once for each state of a file that cannot be used. */
  readonly onProblem?: (path: string, problem: string) => void;
}

/** A file that does not change for so long is taken to be written to its end. */
const settleMs = 20;
/** Files that change for longer than so many looks are left for the next time. */
const mostLooks = 25;

/**
 * Files that an operator may write at any time. They are looked at each time they are asked for, and read when they changed and have been still for a
 * moment, so that nobody gets one half written. One that cannot be used (unreadable, too large, no text) leaves the text before in force.
 */
export class WatchedTexts {
  private found = new Map<string, Found>();
  private current: TextsFound = { texts: new Map(), problems: new Map() };
  private stamp = "";
  private reading: Promise<void> | undefined;

  constructor(
    /** The paths to look at; those that have no file may be left out. */
    private readonly paths: () => readonly string[],
    private readonly options: WatchedTextsOptions,
  ) {}

  read(): Soon<TextsFound> {
    if (this.look().stamp === this.stamp) return this.current;
    this.reading ??= this.readStill().finally(() => {
      this.reading = undefined;
    });
    return this.reading.then(() => this.current);
  }

  private look(): { readonly stamp: string; readonly stamps: ReadonlyMap<string, string> } {
    const stamps = new Map<string, string>();
    for (const path of this.paths()) {
      const stamp = stampOf(path);
      if (stamp !== "") stamps.set(path, stamp);
    }
    return { stamp: stamps.size === 0 ? "" : JSON.stringify([...stamps]), stamps };
  }

  private async readStill(): Promise<void> {
    let before = this.look();
    for (let looks = 1; looks < mostLooks; looks++) {
      await this.wait(settleMs);
      const now = this.look();
      if (now.stamp === before.stamp) {
        const found = await this.readAll(now.stamps);
        // Whoever wrote meanwhile is not done.
        if (this.look().stamp === now.stamp) {
          this.take(found, now.stamp);
          return;
        }
      }
      before = now;
    }
  }

  private wait(ms: number): Promise<void> {
    const { timers = systemTimers } = this.options;
    return new Promise((resolve) => {
      timers.after(ms, resolve);
    });
  }

  private async readAll(stamps: ReadonlyMap<string, string>): Promise<Map<string, Found>> {
    const found = new Map<string, Found>();
    for (const [path, stamp] of stamps) {
      const known = this.found.get(path);
      if (known?.stamp === stamp) {
        found.set(path, known);
        continue;
      }
      const { text = known?.text, problem = "" } = await readText(path, this.options.maxBytes);
      found.set(path, { stamp, text, problem });
    }
    return found;
  }

  /** All at once: nobody sees some files as they are and some as they were. */
  private take(found: Map<string, Found>, stamp: string): void {
    const before = this.found;
    const entries = [...found];
    this.found = found;
    this.stamp = stamp;
    this.current = {
      texts: new Map(entries.flatMap(([path, { text }]) => (text === undefined ? [] : [[path, text]]))),
      problems: new Map(entries.flatMap(([path, { problem }]) => (problem === "" ? [] : [[path, problem]]))),
    };
    for (const [path, { problem, stamp }] of entries) {
      if (problem !== "" && before.get(path)?.stamp !== stamp) this.options.onProblem?.(path, problem);
    }
  }
}

/** What changes with a file; empty where there is none. */
function stampOf(path: string): string {
  let stats: BigIntStats | undefined;
  try {
    stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    return codeOf(error);
  }
  if (!stats) return "";
  const { dev, ino, mode, size, mtimeNs, ctimeNs } = stats;
  return [dev, ino, mode, size, mtimeNs, ctimeNs].join("/");
}

/** Bytes that no text has: controls but for tab, line feed, form feed and carriage return. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const controls = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f\u007f]/;

async function readText(
  path: string,
  maxBytes: number,
): Promise<{ readonly text?: string; readonly problem?: string }> {
  try {
    // Not blocking: a pipe that nobody writes to would never open.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) return { problem: "it is no file" };
      if (stats.size > maxBytes) return { problem: tooLarge(stats.size, maxBytes) };
      const buffer = Buffer.alloc(maxBytes + 1);
      let length = 0;
      for (;;) {
        const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
        length += bytesRead;
        if (bytesRead === 0 || length === buffer.length) break;
      }
      if (length > maxBytes) return { problem: tooLarge(length, maxBytes) };
      const text = new TextDecoder("utf-8", { fatal: true }).decode(buffer.subarray(0, length));
      return controls.test(text) ? { problem: "it is not text" } : { text };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof TypeError) return { problem: "it is not text in UTF-8" };
    return { problem: `it cannot be read (${codeOf(error)})` };
  }
}

function tooLarge(bytes: number, maxBytes: number): string {
  return `it has ${bytes} bytes, and ${maxBytes} are allowed`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
