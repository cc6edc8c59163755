import { QuireError } from "../errors/quire-error.js";
import type { Method } from "./method.js";
import { decodeStrictly } from "./strict-reader.js";

/** How a request came in over the network. */
export interface Admitted {
  readonly connection: object;
  /** Between these two its bytes count as in work. */
  begin(): void;
  done(): void;
}

/** A request as it came. It is decoded when its call gets to work, and not for calls that never do. */
export class WireRequest {
  readonly size: number;
  private bytes: Uint8Array | undefined;

  constructor(
    bytes: Uint8Array,
    readonly method: Method,
    readonly admitted?: Admitted,
  ) {
    this.size = bytes.length;
    this.bytes = bytes;
  }

  /** Decodes it, once. */
  open(): object {
    const bytes = this.take();
    try {
      return decodeStrictly(bytes, (reader) => this.method.requestType.decode(reader)) as object;
    } catch (cause) {
      throw malformed(this.method, cause);
    }
  }

  /** The bytes, once: they are not kept beside what is made of them. */
  take(): Uint8Array {
    const bytes = this.bytes!;
    this.bytes = undefined;
    return bytes;
  }
}

export function malformed({ name }: Method, cause: unknown): QuireError {
  const metadata = { method: name };
  return new QuireError("MALFORMED_REQUEST", `the bytes are no request of ${name}`, { metadata, cause });
}
