const ids = new WeakMap<object, number>();
let last = 0;

/** A number that stands for an object as long as it lives, for keys of what is made from it: an object that never changes. 0 for none. */
export function objectId(object: object | undefined): number {
  if (object === undefined) return 0;
  let id = ids.get(object);
  if (id === undefined) {
    id = ++last;
    ids.set(object, id);
  }
  return id;
}
