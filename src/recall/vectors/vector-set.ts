import { dot } from "./dot.js";
import { signsOf, Typical, wordsOfSigns } from "./signs.js";
import type { VectorRows } from "./vector-rows.js";

/** The vectors of a partition as a scan sees them. */
export interface VectorRowSet {
  readonly rows: readonly VectorRows[];
  readonly typical: Typical | undefined;
}

interface Chunk extends VectorRows {
  count: number;
}

/** Nothing is copied to make room for more: chunks become larger up to this, and then there are more of them. */
const firstRows = 64;
const chunkRows = 2_048;
/** What is typical is known from so many; fewer are all compared. */
const typicalAfter = 1_024;
/** The signs of shorter vectors say too little, and to compare all of them costs little. */
const leastDimensions = 128;

/** The vectors of one partition, in memory that worker threads share. */
export class VectorSet {
  /** When the table was read, by the database's clock: what had been written by then is here. */
  readUs = 0n;
  private readonly chunks: Chunk[] = [];
  private capacity = 0;
  private typical: Typical | undefined;
  /** The chunk and the row of a document, as one number. */
  private readonly placeOf = new Map<number, number>();
  private readonly free: number[] = [];

  constructor(
    readonly dimensions: number,
    /** When it was begun, in milliseconds. */
    readonly sinceMs: number,
  ) {}

  get bytes(): number {
    const each = (this.dimensions + wordsOfSigns(this.dimensions) + 1) * 4;
    return this.capacity * each + this.placeOf.size * 48 + 1_000;
  }

  get size(): number {
    return this.placeOf.size;
  }

  get rowSet(): VectorRowSet {
    const rows = this.chunks.map(({ ids, values, signs, count }) => ({ ids, values, signs, count }));
    return { rows, typical: this.typical };
  }

  set(documentId: number, vector: Float32Array): void {
    const place = this.placeOf.get(documentId) ?? this.free.pop() ?? this.append();
    const [chunk, row] = this.at(place);
    chunk.values.set(vector, row * this.dimensions);
    chunk.ids[row] = documentId;
    this.placeOf.set(documentId, place);
    if (this.typical) signsOf(this.typical, chunk, row);
    else if (this.dimensions >= leastDimensions && this.placeOf.size >= typicalAfter) this.learn();
  }

  delete(documentId: number): boolean {
    const place = this.placeOf.get(documentId);
    if (place === undefined) return false;
    const [chunk, row] = this.at(place);
    this.placeOf.delete(documentId);
    chunk.ids[row] = 0;
    chunk.values.fill(0, row * this.dimensions, (row + 1) * this.dimensions);
    this.free.push(place);
    return true;
  }

  /** Tells the cosines of those of these documents that it has, by way of whatever there are fewer of. */
  cosines(
    documentIds: ReadonlySet<number>,
    query: Float32Array,
    tell: (documentId: number, cosine: number) => void,
  ): void {
    for (const id of documentIds.size < this.size ? documentIds : this.placeOf.keys()) {
      const place = this.placeOf.get(id);
      if (place === undefined || !documentIds.has(id)) continue;
      const { values } = this.chunks[Math.floor(place / chunkRows)]!;
      tell(id, dot(values, (place % chunkRows) * this.dimensions, query));
    }
  }

  private at(place: number): readonly [chunk: Chunk, row: number] {
    return [this.chunks[Math.floor(place / chunkRows)]!, place % chunkRows];
  }

  private append(): number {
    let last = this.chunks.at(-1);
    if (last === undefined || last.count === last.ids.length) {
      last = this.chunk(Math.min(chunkRows, last ? last.ids.length * 2 : firstRows));
      this.chunks.push(last);
    }
    return (this.chunks.length - 1) * chunkRows + last.count++;
  }

  private chunk(rows: number): Chunk {
    this.capacity += rows;
    return {
      ids: new Int32Array(new SharedArrayBuffer(rows * 4)),
      values: new Float32Array(new SharedArrayBuffer(rows * this.dimensions * 4)),
      signs: new Uint32Array(new SharedArrayBuffer(rows * wordsOfSigns(this.dimensions) * 4)),
      count: 0,
    };
  }

  private learn(): void {
    const typical = Typical.of(this.rowSet.rows, this.dimensions);
    for (const chunk of this.chunks) for (let row = 0; row < chunk.count; row++) signsOf(typical, chunk, row);
    this.typical = typical;
  }
}
