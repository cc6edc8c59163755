import { BinaryReader } from "@bufbuild/protobuf/wire";
import { QuireError } from "../errors/quire-error.js";

/** How a request came in over the network. */
export interface Admitted {
  readonly connection: object;
  /** Between these two its bytes count as in work. */
  begin(): void;
  end(): void;
}

interface Decoder<T> {
  decode(input: BinaryReader): T;
}

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

/** A request as it came. It is decoded when its call gets to work, and not for calls that never do. */
export class WireRequest<T> {
  admitted: Admitted | undefined;
  readonly size: number;
  private bytes: Uint8Array | undefined;

  constructor(
    bytes: Uint8Array,
    private readonly codec: Decoder<T>,
  ) {
    this.size = bytes.length;
    this.bytes = bytes;
  }

  /** Decodes strictly, once: text that is not UTF-8 is refused, and not changed. */
  open(name: string): T {
    const reader = new StrictReader(this.bytes!);
    this.bytes = undefined;
    try {
      const message = this.codec.decode(reader);
      // Generated code stops at a tag that cannot be, and would leave out what follows it.
      if (reader.pos !== reader.len) throw new RangeError("bytes after the end of the message");
      return message;
    } catch (cause) {
      const metadata = { method: name };
      throw new QuireError("MALFORMED_REQUEST", `the bytes are no request of ${name}`, { metadata, cause });
    }
  }
}
