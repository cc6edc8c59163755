import { BinaryReader } from "@bufbuild/protobuf/wire";

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** A request may be many megabytes; of empty elements, which take two bytes each, it could hold more than memory does. */
const maxValues = 1_000_000;

class StrictReader extends BinaryReader {
  constructor(bytes: Uint8Array) {
    super(bytes, (text) => strictDecoder.decode(text));
    // Every tag, length and number takes a byte at least, so most requests need no count.
    if (bytes.length <= maxValues) return;
    const read = this.uint32;
    let left = maxValues;
    this.uint32 = () => {
      if (left-- === 0) throw new RangeError(`more than ${maxValues} values`);
      return read.call(this);
    };
  }
}

/** Decodes strictly: text that is not UTF-8 is refused, and not changed. */
export function decodeStrictly<T>(bytes: Uint8Array, decode: (reader: BinaryReader) => T): T {
  const reader = new StrictReader(bytes);
  const message = decode(reader);
  // Generated code stops at a tag that cannot be, and would leave out what follows it.
  if (reader.pos !== reader.len) throw new RangeError("bytes after the end of the message");
  return message;
}
