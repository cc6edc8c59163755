/** What ranking needs to know of a document. */
export interface RankedDocument {
  readonly id: number;
  readonly sessionId: string | null;
  readonly branchId: string | null;
  readonly depth: number | null;
  readonly messageIndex: number;
  readonly timeMs: number;
  readonly speaker: string;
  readonly flags: number;
  readonly termCount: number;
}

/** Messages further apart than this are of different sittings, even in one session. */
const sittingGapMs = 4 * 3_600_000;
const firstCapacity = 64;
const spareRows = 1_000;

/**
 * The documents of a partition without their texts, in columns: a search looks at many of them, and reads only the rows that it
 * returns. It may still hold documents that are gone: no posting names them, and their rows are not found.
 */
export class PartitionTable {
  count = 0;
  totalTerms = 0;
  maxId = 0;
  /** Whether a message was indexed anew: then it stands here twice. */
  hasReplaced = false;
  /** How many it had when it was first read. */
  firstCount = 0;
  sittingCount = 0;
  ids = new Int32Array(firstCapacity);
  /** The messages before and after, as rows of this table; -1 for none. */
  before = new Int32Array(firstCapacity);
  after = new Int32Array(firstCapacity);
  sittings = new Int32Array(firstCapacity);
  branches = new Int32Array(firstCapacity);
  depths = new Int32Array(firstCapacity);
  indexes = new Int32Array(firstCapacity);
  sessions = new Int32Array(firstCapacity);
  speakers = new Int32Array(firstCapacity);
  lengths = new Float32Array(firstCapacity);
  times = new Float64Array(firstCapacity);
  flags = new Uint8Array(firstCapacity);
  /** Names by their numbers; 0 is none. */
  readonly branchNames = new Names();
  readonly sessionNames = new Names();
  readonly speakerNames = new Names();
  /** Ids in their order, with their rows; those that were committed late are apart. */
  private sortedIds = new Int32Array(firstCapacity);
  private sortedRows = new Int32Array(firstCapacity);
  private sortedCount = 0;
  private readonly strays = new Map<number, number>();
  private readonly lastOfBranch = new Map<number, number>();
  private readonly newestOfBranch = new Map<number, number>();

  get bytes(): number {
    const names = this.branchNames.bytes + this.sessionNames.bytes + this.speakerNames.bytes;
    return this.ids.length * 57 + this.strays.size * 48 + names + this.lastOfBranch.size * 96 + 10_000;
  }

  /** Whether so much of it may be gone that it is better read anew. */
  get isOutdated(): boolean {
    return this.hasReplaced || this.count > 2 * this.firstCount + spareRows;
  }

  rowOf(id: number): number | undefined {
    const at = this.placeOf(id, 0);
    return at < this.sortedCount && this.sortedIds[at] === id ? this.sortedRows[at] : this.strays.get(id);
  }

  /** The rows of ascending ids, -1 for those that are not here. */
  rowsOf(ids: Int32Array): Int32Array {
    const rows = new Int32Array(ids.length);
    let at = 0;
    for (let index = 0; index < ids.length; index++) {
      const id = ids[index]!;
      at = this.placeOf(id, at);
      rows[index] =
        at < this.sortedCount && this.sortedIds[at] === id
          ? this.sortedRows[at]!
          : (this.strays.get(id) ?? -1);
    }
    return rows;
  }

  /** Where an id is, or would be, from a place on that is not behind it: in steps that double, then by halves. */
  private placeOf(id: number, from: number): number {
    const { sortedIds, sortedCount } = this;
    let low = from;
    let step = 1;
    while (low + step < sortedCount && sortedIds[low + step]! < id) {
      low += step;
      step *= 2;
    }
    let high = Math.min(sortedCount, low + step + 1);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sortedIds[middle]! < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  add(document: RankedDocument): void {
    if (this.rowOf(document.id) !== undefined) return;
    if (this.count === this.ids.length) this.grow();
    const row = this.count++;
    if (document.id > this.maxId) {
      this.maxId = document.id;
      this.sortedIds[this.sortedCount] = document.id;
      this.sortedRows[this.sortedCount++] = row;
    } else this.strays.set(document.id, row);
    this.totalTerms += document.termCount;
    this.ids[row] = document.id;
    this.branches[row] = this.branchNames.number(document.branchId ?? "");
    this.sessions[row] = this.sessionNames.number(document.sessionId ?? "");
    this.speakers[row] = this.speakerNames.number(document.speaker);
    this.depths[row] = document.depth ?? 0;
    this.indexes[row] = document.messageIndex;
    this.times[row] = document.timeMs;
    this.lengths[row] = document.termCount;
    this.flags[row] = document.flags;
    this.link(row);
  }

  /** Puts a message between its neighbours. Nearly always it is the last of its branch. */
  private link(row: number): void {
    this.before[row] = -1;
    this.after[row] = -1;
    const branch = this.branches[row]!;
    if (branch === 0) {
      this.sittings[row] = this.sittingCount++;
      return;
    }
    // From where the last one came: those that follow one another stand side by side.
    let previous = this.newestOfBranch.get(branch) ?? -1;
    while (previous >= 0 && this.isBefore(row, previous)) previous = this.before[previous]!;
    while (previous >= 0 && this.after[previous]! >= 0 && !this.isBefore(row, this.after[previous]!))
      previous = this.after[previous]!;
    this.newestOfBranch.set(branch, row);
    if (previous >= 0 && !this.isBefore(previous, row)) this.hasReplaced = true;
    const next = previous >= 0 ? this.after[previous]! : this.firstOfBranch(branch, row);
    this.before[row] = previous;
    this.after[row] = next;
    if (previous >= 0) this.after[previous] = row;
    if (next >= 0) this.before[next] = row;
    else this.lastOfBranch.set(branch, row);
    const isSameSitting = previous >= 0 && Math.abs(this.times[row]! - this.times[previous]!) <= sittingGapMs;
    this.sittings[row] = isSameSitting ? this.sittings[previous]! : this.sittingCount++;
  }

  private firstOfBranch(branch: number, row: number): number {
    let first = this.lastOfBranch.get(branch) ?? -1;
    while (first >= 0 && this.before[first]! >= 0 && this.before[first] !== row) first = this.before[first]!;
    return first;
  }

  private isBefore(a: number, b: number): boolean {
    return (
      this.depths[a]! - this.depths[b]! < 0 ||
      (this.depths[a] === this.depths[b] && this.indexes[a]! < this.indexes[b]!)
    );
  }

  private grow(): void {
    const size = this.ids.length * 2;
    const int = (old: Int32Array) => {
      const grown = new Int32Array(size);
      grown.set(old);
      return grown;
    };
    this.ids = int(this.ids);
    this.sortedIds = int(this.sortedIds);
    this.sortedRows = int(this.sortedRows);
    this.before = int(this.before);
    this.after = int(this.after);
    this.sittings = int(this.sittings);
    this.branches = int(this.branches);
    this.depths = int(this.depths);
    this.indexes = int(this.indexes);
    this.sessions = int(this.sessions);
    this.speakers = int(this.speakers);
    const lengths = new Float32Array(size);
    lengths.set(this.lengths);
    this.lengths = lengths;
    const times = new Float64Array(size);
    times.set(this.times);
    this.times = times;
    const flags = new Uint8Array(size);
    flags.set(this.flags);
    this.flags = flags;
  }
}

/** Numbers for names, from 1; the empty name is 0. */
export class Names {
  private readonly numbers = new Map<string, number>([["", 0]]);
  readonly list: string[] = [""];
  /** About what they take in memory. */
  bytes = 0;

  number(name: string): number {
    let number = this.numbers.get(name);
    if (number === undefined) {
      number = this.list.push(name) - 1;
      this.numbers.set(name, number);
      this.bytes += 2 * name.length + 120;
    }
    return number;
  }

  find(name: string): number | undefined {
    return this.numbers.get(name);
  }
}
