import { BinaryWriter } from "@bufbuild/protobuf/wire";

interface Encodes<T> {
  encode(message: T, writer: BinaryWriter): BinaryWriter;
}

/** One that wrote more than this is not kept. */
const maxKeptBytes = 256 * 1024;
/** A writer that has grown does not grow again: one for all messages. */
let writer = new BinaryWriter();

/** A message in wire form, in memory of its own. */
export function wireBytes<T>(codec: Encodes<T>, message: T): Buffer {
  return written((to) => codec.encode(message, to));
}

/** What is written, in memory of its own. Must not be called while something is written. */
export function written(write: (writer: BinaryWriter) => BinaryWriter): Buffer {
  try {
    const bytes = write(writer).finish();
    if (bytes.length > maxKeptBytes) writer = new BinaryWriter();
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  } catch (error) {
    // What was half written must not stand before the next message.
    writer = new BinaryWriter();
    throw error;
  }
}

const lists = new WeakMap<object, WeakMap<readonly unknown[], Buffer>>();

/** A list in wire form, made once for each way to encode it, for as long as the list is kept. */
export function listWire<T>(list: readonly T[], encode: (list: readonly T[]) => Buffer): Buffer {
  let wires = lists.get(encode);
  if (!wires) {
    wires = new WeakMap();
    lists.set(encode, wires);
  }
  let wire = wires.get(list);
  if (!wire) {
    wire = encode(list);
    wires.set(list, wire);
  }
  return wire;
}
