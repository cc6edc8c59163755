/**
 * A value that is there, or will be. What is there is not waited for: in a call that is made of many small steps, the waits would cost more than the
 * steps do.
 */
export type Soon<T> = T | Promise<T>;

/** What all of them give, begun at once. The first failure counts, and none of the others goes unheard. */
export function together<Works extends readonly (() => unknown)[]>(
  ...works: Works
): Soon<{ -readonly [Key in keyof Works]: Awaited<ReturnType<Works[Key]>> }> {
  type Found = { -readonly [Key in keyof Works]: Awaited<ReturnType<Works[Key]>> };
  let isThere = true;
  const found = works.map((work) => {
    try {
      const value = work();
      if (value instanceof Promise) isThere = false;
      return value;
    } catch (error) {
      isThere = false;
      return Promise.reject(error);
    }
  });
  return isThere ? (found as Found) : (Promise.all(found) as Promise<Found>);
}
