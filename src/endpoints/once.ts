/** Does something when it is first needed: an SDK takes a while to load, and most servers never call one. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}
