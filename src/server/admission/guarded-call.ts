import {
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerMethodDefinition,
} from "@grpc/grpc-js";
import type { Clock } from "../../domain/clock.js";
import { QuireError } from "../../errors/quire-error.js";
import { toServiceError } from "../status.js";
import { WireRequest } from "../wire-request.js";
import { type Arrival, smallBytes } from "./arrival.js";
import type { ByteBudget, Hold } from "./byte-budget.js";
import { FewAtATime } from "./few-at-a-time.js";

/** grpc-js copies an answer as a whole: of those that are felt, one in a turn of the event loop. */
const largeBytes = 1024 * 1024;
const largeAnswers = new FewAtATime(1);

type Listener = Parameters<ServerInterceptingCallInterface["start"]>[0];

/** A call whose request knows how it came in, and whose answers are counted until they are sent. */
export class GuardedCall extends ServerInterceptingCall {
  private isOver = false;
  private waitsSinceMs: number | undefined;
  private hold: Hold | undefined;
  private endWait: (() => void) | undefined;

  constructor(
    private readonly inner: ServerInterceptingCallInterface,
    private readonly definition: ServerMethodDefinition<unknown, unknown>,
    private readonly arrival: Arrival,
    private readonly answers: ByteBudget,
    private readonly sending: Set<GuardedCall>,
    private readonly clock: Clock,
  ) {
    super(inner);
    arrival.becomes(inner);
  }

  override start(listener: Listener): void {
    this.inner.start({
      onReceiveMetadata: (metadata) => listener.onReceiveMetadata(metadata),
      // grpc-js may go on with a call that was cancelled while its request was read.
      onReceiveMessage: (message) => {
        if (this.isOver) return;
        if (message instanceof WireRequest) message.admitted = this.arrival;
        listener.onReceiveMessage(message);
      },
      onReceiveHalfClose: () => {
        if (this.isOver) return;
        this.arrival.arrived();
        listener.onReceiveHalfClose();
      },
      onCancel: () => {
        this.isOver = true;
        this.endWait?.();
        this.release();
        listener.onCancel();
      },
    });
  }

  override sendMetadata(metadata: Parameters<ServerInterceptingCall["sendMetadata"]>[0]): void {
    this.inner.sendMetadata(metadata);
  }

  override sendStatus(status: Parameters<ServerInterceptingCall["sendStatus"]>[0]): void {
    this.inner.sendStatus(status);
  }

  override sendMessage(message: unknown, callback: () => void): void {
    // Encoded here, since only then it is known how large it is.
    const pieces: readonly Buffer[] = Array.isArray(message)
      ? message
      : [this.definition.responseSerialize(message)];
    const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const pass = () => {
      if (this.isOver) return this.release();
      this.waitsSinceMs = this.clock.now();
      this.inner.sendMessage(pieces, () => {
        this.release();
        callback();
      });
    };
    const send = (hold: Hold) => {
      this.hold = hold;
      if (bytes > largeBytes) largeAnswers.soon(pass);
      else pass();
    };
    try {
      if (bytes <= smallBytes) {
        send(this.answers.take(bytes));
        return;
      }
      this.sending.add(this);
      this.endWait = this.answers.ask(bytes, send);
    } catch (error) {
      this.sending.delete(this);
      this.inner.sendStatus(toServiceError(QuireError.from(error)));
    }
  }

  /** Ends the call if its answer lies unread since before then. */
  cutOffIfUnreadSince(timeMs: number): void {
    if (this.waitsSinceMs !== undefined && this.waitsSinceMs <= timeMs) this.arrival.cutOff();
  }

  private release(): void {
    this.sending.delete(this);
    this.waitsSinceMs = undefined;
    this.hold?.release();
    this.hold = undefined;
  }
}
