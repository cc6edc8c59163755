import { type FSWatcher, watch } from "node:fs";

/**
 * Calls back when something changed in one of the folders, once for changes that come together. Each folder is
 * watched by itself, so that what is not looked at (node_modules, .git) costs nothing.
 */
export class FolderWatcher {
  private readonly watchers = new Map<string, FSWatcher>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly onChange: () => void,
    private readonly quietMs = 200,
  ) {}

  /** Watches these folders, and no longer any other. */
  follow(folders: readonly string[]): void {
    const wanted = new Set(folders);
    for (const [folder, watcher] of this.watchers) if (!wanted.has(folder)) this.drop(folder, watcher);
    for (const folder of wanted) if (!this.watchers.has(folder)) this.add(folder);
  }

  /** Calls back after a while, if nothing does so before. */
  later(delayMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.onChange, delayMs);
  }

  close(): void {
    clearTimeout(this.timer);
    for (const [folder, watcher] of this.watchers) this.drop(folder, watcher);
  }

  private add(folder: string): void {
    try {
      const watcher = watch(folder, () => this.later(this.quietMs));
      // A folder that goes away says so to its parent, too.
      watcher.on("error", () => this.drop(folder, watcher));
      this.watchers.set(folder, watcher);
    } catch {
      // It went away just now.
      this.later(this.quietMs);
    }
  }

  private drop(folder: string, watcher: FSWatcher): void {
    watcher.close();
    this.watchers.delete(folder);
  }
}
