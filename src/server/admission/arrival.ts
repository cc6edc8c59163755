import { constants, type ServerHttp2Stream } from "node:http2";
import type { ServerInterceptingCallInterface } from "@grpc/grpc-js";
import type { Clock } from "../../domain/clock.js";
import { QuireError } from "../../errors/quire-error.js";
import { toServiceError } from "../status.js";
import type { Admitted } from "../wire-request.js";
import type { ByteBudget, Hold } from "./byte-budget.js";

/** Up to this size, about what a stream holds before it is read, a message waits for nothing. */
export const smallBytes = 65_536;
/** A compression flag and four bytes of length stand before a message. */
const prefixBytes = 5;
/** Deflate cannot do better: a message of n bytes never comes to more than this many times n. */
const maxInflation = 1_032;
const patienceMs = 30_000;
const slowestBytesPerMs = 512;

export interface ArrivalLimits {
  readonly requests: ByteBudget;
  readonly maxRequestBytes: number;
}

/**
 * A call on its way in. As soon as it says how large its request is, that much is taken from the budget, or the stream
 * stands still until there is room: what is not read stays with the client.
 */
export class Arrival implements Admitted {
  private call: ServerInterceptingCallInterface | undefined;
  private prefix: Buffer = Buffer.alloc(0);
  private leftBytes = 0;
  private hold: Hold | undefined;
  private endWait: (() => void) | undefined;
  private isAtWork = false;
  private isClosed = false;
  private dueMs: number;

  constructor(
    private readonly stream: ServerHttp2Stream,
    readonly connection: object,
    private readonly limits: ArrivalLimits,
    private readonly clock: Clock,
    private readonly left: (arrival: Arrival) => void,
  ) {
    this.dueMs = clock.now() + patienceMs;
    stream.on("data", (chunk: Buffer) => this.read(chunk));
    stream.once("close", () => this.close());
  }

  /** The call that grpc-js made of the stream. */
  becomes(call: ServerInterceptingCallInterface): void {
    this.call = call;
  }

  /** The request is there, whole. */
  arrived(): void {
    this.left(this);
  }

  /** The request is in work: its bytes stay taken until that is over, whatever becomes of the stream. */
  begin(): void {
    this.isAtWork = true;
  }

  end(): void {
    this.isAtWork = false;
    this.hold?.release();
  }

  /** Gives up on a request that does not come. */
  expire(): void {
    if (this.clock.now() < this.dueMs) return;
    this.refuse(new QuireError("DEADLINE_EXCEEDED", "the request did not arrive in time"));
  }

  /** Ends the call without a word, to a client that reads none. */
  cutOff(): void {
    this.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  private read(chunk: Buffer): void {
    if (this.prefix.length < prefixBytes) {
      const missing = prefixBytes - this.prefix.length;
      this.prefix = Buffer.concat([this.prefix, chunk.subarray(0, missing)]);
      if (this.prefix.length < prefixBytes) return;
      this.leftBytes = this.prefix.readUInt32BE(1) - (chunk.length - missing);
      this.admit(this.prefix.readUInt32BE(1), this.prefix[0] === 1);
    } else {
      this.leftBytes -= chunk.length;
    }
    if (this.leftBytes < 0)
      this.refuse(new QuireError("MALFORMED_REQUEST", "the call has more than one request"));
  }

  private admit(declaredBytes: number, isCompressed: boolean): void {
    const { requests, maxRequestBytes } = this.limits;
    // grpc-js refuses it at the same moment.
    if (declaredBytes > maxRequestBytes) return;
    // Twice: as it came, and as what is made of it.
    const bytes =
      declaredBytes +
      (isCompressed ? Math.min(declaredBytes * maxInflation, maxRequestBytes) : declaredBytes);
    try {
      if (bytes <= 2 * smallBytes) {
        this.hold = requests.take(bytes);
        return;
      }
      this.stream.pause();
      // It is no fault of the client's that it waits.
      this.dueMs = Number.POSITIVE_INFINITY;
      this.endWait = requests.ask(bytes, (hold) => {
        this.hold = hold;
        this.dueMs = this.clock.now() + patienceMs + declaredBytes / slowestBytesPerMs;
        if (this.isClosed) hold.release();
        else this.stream.resume();
      });
    } catch (error) {
      this.refuse(QuireError.from(error));
    }
  }

  private refuse(error: QuireError): void {
    this.left(this);
    this.endWait?.();
    this.call?.sendStatus(toServiceError(error));
    // The rest of the request is of no use to anyone.
    this.stream.close(constants.NGHTTP2_NO_ERROR);
  }

  private close(): void {
    this.isClosed = true;
    this.left(this);
    this.endWait?.();
    if (!this.isAtWork) this.hold?.release();
  }
}
