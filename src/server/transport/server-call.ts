import { constants, type ServerHttp2Stream } from "node:http2";
import type { QuireError } from "../../errors/quire-error.js";
import type { AnswerRoom } from "../admission/answer-room.js";
import { callerLeft, deadlinePassed } from "../call/early-end.js";
import { type EncodedResponse, size } from "../encoded-response.js";
import { toServiceError } from "../status.js";
import { type CallStatus, statusHeaders } from "./call-status.js";
import { acceptedEncodings } from "./decompress.js";
import { framed } from "./framed.js";

const responseHeaders = {
  ":status": 200,
  "content-type": "application/grpc+proto",
  "grpc-accept-encoding": acceptedEncodings,
};
const withTrailers = { waitForTrailers: true, sendDate: false };
const withoutMessages = { endStream: true, sendDate: false };
/** Longer than a timer can wait. */
const foreverMs = 2 ** 31 - 1;

/** Makes the reason for which a caller waits no longer: thousands may leave at once, and few are asked why. */
type WhyLeft = () => QuireError;

/** One call on an http2 stream: what is sent of its answers, how it ends, and whether its caller still waits. */
export class ServerCall {
  private hasHeaders = false;
  private isCorked = false;
  /** It has its status, or nobody is there to hear one. */
  private isOver = false;
  private status: CallStatus | undefined;
  private left: WhyLeft | undefined;
  private listener: ((why: WhyLeft) => void) | undefined;
  private endWait: (() => void) | undefined;
  private readonly unsent = new Set<() => void>();
  private readonly timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly stream: ServerHttp2Stream,
    private readonly room: AnswerRoom,
    /** When the caller stops waiting, if it said so: milliseconds since 1970. */
    readonly deadlineMs?: number,
  ) {
    stream.once("close", () => this.close());
    const leftMs = (deadlineMs ?? Number.POSITIVE_INFINITY) - Date.now();
    if (leftMs < foreverMs) this.timer = setTimeout(() => this.expire(), leftMs);
  }

  /** Whether the caller went away, or its deadline passed, before there was a status. */
  get wasLeft(): boolean {
    return this.left !== undefined;
  }

  /** Calls back when the caller waits no longer, at once if that is so. Returns what ends that. */
  onLeft(listener: (why: WhyLeft) => void): () => void {
    if (this.left) listener(this.left);
    else this.listener = listener;
    return () => {
      this.listener = undefined;
    };
  }

  /**
   * Sends a message: at once, or when there is room for it, which the promise says. `sent` is called when the client's system has it, or
   * never will. Throws where too many answers lie unread. To be called for one message after the other.
   */
  send(pieces: EncodedResponse, sent?: () => void): Promise<void> | undefined {
    if (this.isOver) return undefined;
    const bytes = size(pieces);
    let isIn = false;
    let entered: (() => void) | undefined;
    const endWait = this.room.enter(this, bytes, (release) => {
      isIn = true;
      this.endWait = undefined;
      this.write(pieces, bytes, release, sent);
      entered?.();
    });
    if (isIn) return undefined;
    return new Promise((resolve) => {
      entered = resolve;
      this.endWait = () => {
        endWait();
        resolve();
      };
    });
  }

  /** Sends the only message, and ends the call well. Throws as `send` does. */
  async answer(pieces: EncodedResponse): Promise<void> {
    const entering = this.send(pieces);
    if (entering) await entering;
    this.end();
  }

  /** Ends the call: well, or with what went wrong. Only the first time counts. */
  end(status?: CallStatus): void {
    if (this.isOver) return;
    this.finish();
    const { stream } = this;
    if (stream.destroyed || stream.closed) return;
    this.status = status;
    if (this.hasHeaders) stream.end();
    else stream.respond({ ...responseHeaders, ...statusHeaders(status) }, withoutMessages);
  }

  /** Ends the call and reads no more of it. */
  refuse(status: CallStatus): void {
    this.end(status);
    this.stream.close(constants.NGHTTP2_NO_ERROR);
  }

  /** Ends the call without a word, to a client that reads none. */
  cutOff(): void {
    this.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  private write(pieces: EncodedResponse, bytes: number, release: () => void, sent?: () => void): void {
    const { stream } = this;
    if (this.isOver || stream.destroyed || stream.closed) {
      release();
      return;
    }
    this.respond();
    this.cork();
    const { chunks, free } = framed(pieces, bytes);
    const last = chunks.length - 1;
    this.unsent.add(release);
    for (let at = 0; at < last; at++) stream.write(chunks[at]);
    stream.write(chunks[last], (error) => {
      if (!error) free();
      this.unsent.delete(release);
      release();
      sent?.();
    });
  }

  private respond(): void {
    if (this.hasHeaders) return;
    this.hasHeaders = true;
    const { stream } = this;
    stream.once("wantTrailers", () => stream.sendTrailers(statusHeaders(this.status)));
    stream.respond(responseHeaders, withTrailers);
  }

  /** What is sent before the event loop goes on is handed to http2 together. */
  private cork(): void {
    if (this.isCorked) return;
    this.isCorked = true;
    this.stream.cork();
    process.nextTick(() => {
      this.isCorked = false;
      this.stream.uncork();
    });
  }

  private expire(): void {
    this.leave(deadlinePassed);
    const status = toServiceError(deadlinePassed());
    if (this.stream.readableEnded) this.end(status);
    else this.refuse(status);
  }

  private close(): void {
    if (!this.isOver) {
      const isLate = this.deadlineMs !== undefined && Date.now() >= this.deadlineMs;
      this.leave(isLate ? deadlinePassed : callerLeft);
      this.finish();
    }
    for (const release of this.unsent) release();
    this.unsent.clear();
  }

  private leave(why: WhyLeft): void {
    if (this.isOver) return;
    this.left = why;
    this.listener?.(why);
  }

  private finish(): void {
    this.isOver = true;
    clearTimeout(this.timer);
    this.endWait?.();
  }
}
