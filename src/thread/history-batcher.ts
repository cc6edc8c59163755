import { BinaryReader } from "@bufbuild/protobuf/wire";

/** A batch has so many bytes at most, unless a single message is larger: that goes alone. */
const batchBytes = 64 * 1024;

/** The `messages` fields of one response, in pieces: together they are its bytes. */
export type HistoryBatch = readonly Buffer[];

const none: readonly HistoryBatch[] = [];

/** Collects stored bytes into the responses of a stream. A piece that is too large for one is cut between its messages, and only there. */
export class HistoryBatcher {
  private pieces: Buffer[];
  private bytes: number;

  /** What stands before the messages of the first response. */
  constructor(head: Buffer) {
    this.pieces = [head];
    this.bytes = head.length;
  }

  /** Takes stored bytes in, and gives the batches that are full: most often none. */
  add(wire: Buffer): readonly HistoryBatch[] {
    if (this.hasRoomFor(wire)) {
      this.take(wire);
      return none;
    }
    const full: HistoryBatch[] = [];
    for (const piece of wire.length <= batchBytes ? [wire] : messagesOf(wire)) {
      if (!this.hasRoomFor(piece)) full.push(...this.rest());
      this.take(piece);
    }
    return full;
  }

  /** What is left, if anything is. */
  rest(): readonly HistoryBatch[] {
    if (this.pieces.length === 0) return none;
    const taken = this.pieces;
    this.pieces = [];
    this.bytes = 0;
    return [taken];
  }

  private take(piece: Buffer): void {
    this.pieces.push(piece);
    this.bytes += piece.length;
  }

  private hasRoomFor(piece: Buffer): boolean {
    return this.bytes + piece.length <= batchBytes;
  }
}

/** The bytes of each message, with its tag and length. */
function* messagesOf(wire: Buffer): Generator<Buffer> {
  const reader = new BinaryReader(wire);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    reader.skip(wireType, field);
    yield wire.subarray(start, reader.pos);
  }
}
