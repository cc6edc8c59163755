import { onAbort } from "../../domain/on-abort.js";
import { QuireError } from "../../errors/quire-error.js";
import { FewAtATime } from "../admission/few-at-a-time.js";
import type { ServerCall } from "../transport/server-call.js";

const ends = new FewAtATime(64);

/** Aborts when the client cancels, when its deadline passes, or when the server gives up waiting. */
export function callSignal(
  call: ServerCall,
  stopping: AbortSignal,
  isEndless: boolean,
): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const abort = (why: () => QuireError) => controller.abort(why());
  // Watches end by the thousand, when a connection does.
  const ignoreCaller = call.onLeft((why) => (isEndless ? ends.soon(() => abort(why)) : abort(why)));
  const ignoreStop = onAbort(stopping, () =>
    controller.abort(new QuireError("SHUTTING_DOWN", "the server is going down", { retryAfterMs: 1_000 })),
  );
  const release = () => {
    ignoreCaller();
    ignoreStop();
  };
  return { signal: controller.signal, release };
}
