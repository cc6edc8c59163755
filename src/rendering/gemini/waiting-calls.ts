import type { JsonObject } from "../schema-dialect.js";

interface Waiting {
  isAnswered: boolean;
}

/** Calls in their order; all before `next` have their answers. */
interface Line {
  readonly calls: Waiting[];
  next: number;
}

/** Function calls that await their responses. A body can have a million of them, so none is looked for among all. */
export class WaitingCalls {
  private readonly byName = new Map<unknown, { readonly line: Line; readonly byId: Map<unknown, Line> }>();

  constructor(calls: readonly JsonObject[]) {
    for (const { name, id } of calls) {
      let named = this.byName.get(name);
      if (named === undefined) {
        named = { line: { calls: [], next: 0 }, byId: new Map() };
        this.byName.set(name, named);
      }
      let same = named.byId.get(id);
      if (same === undefined) {
        same = { calls: [], next: 0 };
        named.byId.set(id, same);
      }
      const call: Waiting = { isAnswered: false };
      named.line.calls.push(call);
      same.calls.push(call);
    }
  }

  /** Takes the first call of that name, and of that id if there is one; says whether any waited. */
  answer(name: unknown, id: unknown): boolean {
    const named = this.byName.get(name);
    const line = id === undefined ? named?.line : named?.byId.get(id);
    if (line === undefined) return false;
    while (line.calls[line.next]?.isAnswered) line.next++;
    const call = line.calls[line.next];
    if (call === undefined) return false;
    call.isAnswered = true;
    return true;
  }
}
