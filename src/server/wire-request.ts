import type { BinaryReader } from "@bufbuild/protobuf/wire";
import { QuireError } from "../errors/quire-error.js";
import { decodeStrictly } from "./strict-reader.js";

/** How a request came in over the network. */
export interface Admitted {
  readonly connection: object;
  /** Between these two its bytes count as in work. */
  begin(): void;
  end(): void;
}

/** A request as it came. It is decoded when its call gets to work, and not for calls that never do. */
export class WireRequest<T> {
  admitted: Admitted | undefined;
  readonly size: number;
  private bytes: Uint8Array | undefined;

  constructor(
    bytes: Uint8Array,
    /** The method's path: services and methods have names of their own there. */
    readonly path: string,
    private readonly decode: (reader: BinaryReader) => T,
  ) {
    this.size = bytes.length;
    this.bytes = bytes;
  }

  /** Decodes it, once. */
  open(name: string): T {
    const bytes = this.take();
    try {
      return decodeStrictly(bytes, this.decode);
    } catch (cause) {
      throw malformed(name, cause);
    }
  }

  /** The bytes, once: they are not kept beside what is made of them. */
  take(): Uint8Array {
    const bytes = this.bytes!;
    this.bytes = undefined;
    return bytes;
  }
}

export function malformed(name: string, cause: unknown): QuireError {
  const metadata = { method: name };
  return new QuireError("MALFORMED_REQUEST", `the bytes are no request of ${name}`, { metadata, cause });
}
