import type { Workspaces } from "../client/quire-client.js";
import { type PushReport, pushFolder } from "./push-folder.js";
import { readFolder } from "./read-folder.js";
import { FolderWatcher } from "./watch-folders.js";

const retryMs = 2_000;

interface WatchOptions {
  readonly folder: string;
  readonly name: string;
  readonly signal: AbortSignal;
  onPush(report: PushReport): void;
  /** A push that failed is tried again. */
  onError(error: unknown): void;
}

/** Pushes a folder whenever something in it has changed, one push at a time, until the signal aborts. */
export async function watchWorkspace(workspaces: Workspaces, options: WatchOptions): Promise<void> {
  const { signal } = options;
  let wake = () => {};
  let isDue = false;
  const watcher = new FolderWatcher(() => {
    isDue = true;
    wake();
  });
  signal.addEventListener("abort", () => wake());
  try {
    watcher.follow((await readFolder(options.folder)).folders);
    watcher.later(0);
    while (!signal.aborted) {
      if (!isDue) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      isDue = false;
      try {
        const folder = await readFolder(options.folder);
        watcher.follow(folder.folders);
        options.onPush(await pushFolder(workspaces, options.name, folder));
      } catch (error) {
        options.onError(error);
        watcher.later(retryMs);
      }
    }
  } finally {
    watcher.close();
  }
}
