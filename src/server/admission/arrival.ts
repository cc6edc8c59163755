import type { ServerHttp2Stream } from "node:http2";
import { status as Code } from "@grpc/grpc-js";
import type { Clock } from "../../domain/clock.js";
import { QuireError } from "../../errors/quire-error.js";
import { toServiceError } from "../status.js";
import type { CallStatus } from "../transport/call-status.js";
import { decompressed } from "../transport/decompress.js";
import type { ServerCall } from "../transport/server-call.js";
import type { Admitted } from "../wire-request.js";
import type { ByteBudget, Hold } from "./byte-budget.js";
import { smallBytes } from "./small-bytes.js";

/** A compression flag and four bytes of length stand before a message. */
const prefixBytes = 5;
/** Deflate cannot do better: a message of n bytes never comes to more than this many times n. */
const maxInflation = 1_032;
const nothing: Buffer = Buffer.alloc(0);
const patienceMs = 30_000;
const slowestBytesPerMs = 512;

export interface ArrivalLimits {
  readonly requests: ByteBudget;
  readonly maxRequestBytes: number;
}

/**
 * A request on its way in. As soon as it says how large it is, that much is taken from the budget, or the stream
 * stands still until there is room: what is not read stays with the client.
 */
export class Arrival implements Admitted {
  private prefix = nothing;
  /** There as soon as there is room for it. */
  private message: Buffer | undefined;
  private readonly early: Buffer[] = [];
  private filledBytes = 0;
  private hold: Hold | undefined;
  private endWait: (() => void) | undefined;
  private isAtWork = false;
  private isOver = false;
  private dueMs: number;

  constructor(
    private readonly stream: ServerHttp2Stream,
    readonly connection: object,
    private readonly call: ServerCall,
    /** What its message is compressed with, if it is. */
    private readonly encoding: string,
    private readonly limits: ArrivalLimits,
    private readonly clock: Clock,
    private readonly left: (arrival: Arrival) => void,
    private readonly arrived: (message: Buffer) => void,
  ) {
    this.dueMs = clock.now() + patienceMs;
  }

  /** Begins to read. */
  start(): void {
    const { stream } = this;
    stream.on("data", (chunk: Buffer) => this.read(chunk));
    stream.once("end", () => this.end());
    stream.once("close", () => this.close());
    // Where nothing came, there was nobody to hear that it ended.
    if (stream.readableEnded) this.end();
  }

  /** The request is in work: its bytes stay taken until that is over, whatever becomes of the stream. */
  begin(): void {
    this.isAtWork = true;
  }

  done(): void {
    this.isAtWork = false;
    this.hold?.release();
  }

  /** Gives up on a request that does not come. */
  expire(): void {
    if (this.clock.now() < this.dueMs) return;
    this.fail(new QuireError("DEADLINE_EXCEEDED", "the request did not arrive in time"));
  }

  private read(chunk: Buffer): void {
    if (this.isOver) return;
    if (this.prefix.length === prefixBytes) {
      this.fill(chunk);
      return;
    }
    const missing = prefixBytes - this.prefix.length;
    this.prefix = Buffer.concat([this.prefix, chunk.subarray(0, missing)]);
    if (this.prefix.length < prefixBytes) return;
    this.admit(this.prefix.readUInt32BE(1));
    if (!this.isOver) this.fill(chunk.subarray(missing));
  }

  private fill(chunk: Buffer): void {
    const message = this.message;
    if (!message) {
      this.early.push(chunk);
    } else if (this.filledBytes + chunk.length > message.length) {
      this.fail(new QuireError("MALFORMED_REQUEST", "the call has more than one request"));
    } else {
      message.set(chunk, this.filledBytes);
      this.filledBytes += chunk.length;
    }
  }

  /** Takes room for a message of this size, or refuses it. */
  private admit(declaredBytes: number): void {
    const { requests, maxRequestBytes } = this.limits;
    if (declaredBytes > maxRequestBytes) {
      const details = `Received message larger than max (${declaredBytes} vs ${maxRequestBytes})`;
      this.refuse({ code: Code.RESOURCE_EXHAUSTED, details });
      return;
    }
    // Twice: as it came, and as what is made of it.
    const bytes =
      declaredBytes +
      (this.isCompressed ? Math.min(declaredBytes * maxInflation, maxRequestBytes) : declaredBytes);
    try {
      if (bytes <= 2 * smallBytes) {
        this.begins(requests.take(bytes), declaredBytes);
        return;
      }
      this.stream.pause();
      // It is no fault of the client's that it waits.
      this.dueMs = Number.POSITIVE_INFINITY;
      this.endWait = requests.ask(bytes, (hold) => {
        this.dueMs = this.clock.now() + patienceMs + declaredBytes / slowestBytesPerMs;
        this.begins(hold, declaredBytes);
        this.stream.resume();
      });
    } catch (error) {
      this.fail(QuireError.from(error));
    }
  }

  private begins(hold: Hold, declaredBytes: number): void {
    this.hold = hold;
    this.message = Buffer.allocUnsafe(declaredBytes);
    for (const chunk of this.early.splice(0)) this.fill(chunk);
  }

  private get isCompressed(): boolean {
    return this.prefix[0] === 1;
  }

  /** The client has sent all that it will. */
  private end(): void {
    if (this.isOver) return;
    const { message } = this;
    if (!message || this.filledBytes < message.length) {
      this.fail(new QuireError("MALFORMED_REQUEST", "the call ended before its request was whole"));
      return;
    }
    // Whoever takes it may let go of it before the stream closes.
    this.message = undefined;
    this.leave();
    if (this.isCompressed) this.unpack(message);
    else this.arrived(message);
  }

  private async unpack(message: Buffer): Promise<void> {
    const bytes = await decompressed(message, this.encoding, this.limits.maxRequestBytes);
    if (Buffer.isBuffer(bytes)) this.arrived(bytes);
    else this.call.end(bytes);
  }

  private fail(error: QuireError): void {
    this.refuse(toServiceError(error));
  }

  private refuse(status: CallStatus): void {
    this.leave();
    // The rest of the request is of no use to anyone.
    this.call.refuse(status);
  }

  private leave(): void {
    this.isOver = true;
    this.left(this);
    this.endWait?.();
  }

  private close(): void {
    this.leave();
    if (!this.isAtWork) this.hold?.release();
  }
}
