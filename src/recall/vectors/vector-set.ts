import type { VectorPlace } from "../../storage/recall/vector-store.js";
import type { VectorRows } from "./scan-vectors.js";

const firstCapacity = 64;

/** The vectors of one partition, in memory that worker threads share. */
export class VectorSet {
  /** Up to where the table was read. */
  place: VectorPlace = { writtenUs: 0n, documentId: 0 };
  private capacity = 0;
  private count = 0;
  private ids: Int32Array = new Int32Array();
  private values: Float32Array = new Float32Array();
  private readonly rowOf = new Map<number, number>();
  private readonly free: number[] = [];

  constructor(
    readonly dimensions: number,
    /** When it was begun, in milliseconds. */
    readonly sinceMs: number,
  ) {}

  get bytes(): number {
    return this.capacity * (this.dimensions + 1) * 4 + this.rowOf.size * 48 + 1_000;
  }

  get rows(): VectorRows {
    return { ids: this.ids, values: this.values, count: this.count };
  }

  set(documentId: number, vector: Float32Array): void {
    const row = this.rowOf.get(documentId) ?? this.free.pop() ?? this.append();
    this.values.set(vector, row * this.dimensions);
    this.ids[row] = documentId;
    this.rowOf.set(documentId, row);
  }

  delete(documentId: number): boolean {
    const row = this.rowOf.get(documentId);
    if (row === undefined) return false;
    this.rowOf.delete(documentId);
    this.ids[row] = 0;
    this.values.fill(0, row * this.dimensions, (row + 1) * this.dimensions);
    this.free.push(row);
    return true;
  }

  private append(): number {
    if (this.count === this.capacity) this.grow();
    return this.count++;
  }

  private grow(): void {
    this.capacity = Math.max(firstCapacity, Math.ceil(this.capacity * 1.5));
    const ids = new Int32Array(new SharedArrayBuffer(this.capacity * 4));
    const values = new Float32Array(new SharedArrayBuffer(this.capacity * this.dimensions * 4));
    ids.set(this.ids);
    values.set(this.values);
    this.ids = ids;
    this.values = values;
  }
}
