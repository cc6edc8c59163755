import { type Server, ServerInterceptingCall, type ServerInterceptor } from "@grpc/grpc-js";
import type { Config } from "../../config/options.js";
import type { Clock } from "../../domain/clock.js";
import { RunningWork } from "../../domain/running-work.js";
import type { Logger } from "../../telemetry/logger.js";
import { Arrival } from "./arrival.js";
import { ByteBudget } from "./byte-budget.js";
import { CallSlots } from "./call-slots.js";
import { GuardedCall } from "./guarded-call.js";
import { http2ServersOf } from "./http2-servers.js";
import { OneAtATime } from "./one-at-a-time.js";
import { StreamDoor } from "./stream-door.js";

type Limits = Pick<Config, "maxBytesInFlight" | "maxConcurrentCalls" | "maxConnections" | "maxRequestBytes">;

/** Health and reflection must answer whatever else goes on, and are not counted. */
const countedPaths = "/quire.v1.";
const sweepMs = 1_000;
/** How long an answer may lie unread while others wait for its room. */
const unreadMs = 30_000;

/** What the server takes on at once. Every limit is kept as early as it can be, and nobody is refused who could wait. */
export class Admission {
  readonly slots: CallSlots;
  readonly largeRequests = new OneAtATime();
  /** Calls in work: one whose connection is gone may still be. */
  readonly calls = new RunningWork();
  private readonly requests: ByteBudget;
  private readonly answers: ByteBudget;
  private readonly arriving = new Set<Arrival>();
  private readonly sending = new Set<GuardedCall>();
  private readonly door: StreamDoor;
  private readonly sweeper: NodeJS.Timeout;
  /** The one of which grpc-js makes a call just now. */
  private current: Arrival | undefined;

  constructor(
    private readonly limits: Limits,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    this.slots = new CallSlots(limits.maxConcurrentCalls);
    this.requests = new ByteBudget("bytes_in_flight", limits.maxBytesInFlight);
    this.answers = new ByteBudget("bytes_unread", limits.maxBytesInFlight);
    const { maxRequestBytes } = limits;
    this.door = new StreamDoor(clock, (stream, connection, path, take) => {
      if (!path.startsWith(countedPaths)) return take();
      const leave = (arrival: Arrival) => this.arriving.delete(arrival);
      const budget = { requests: this.requests, maxRequestBytes };
      this.current = new Arrival(stream, connection, budget, clock, leave);
      this.arriving.add(this.current);
      try {
        take();
      } finally {
        this.current = undefined;
      }
    });
    this.sweeper = setInterval(() => this.sweep(), sweepMs).unref();
  }

  readonly interceptor: ServerInterceptor = (definition, call) =>
    this.current
      ? new GuardedCall(call, definition, this.current, this.answers, this.sending, this.clock)
      : new ServerInterceptingCall(call);

  /** Takes its place before grpc-js, on every address that the server listens on by now. */
  guard(server: Server): void {
    for (const http2Server of http2ServersOf(server))
      this.door.guard(http2Server, this.limits.maxConnections);
  }

  /** Ends every connection: nobody is waited for any more. */
  cutOff(): void {
    this.door.cutOff();
  }

  close(): void {
    clearInterval(this.sweeper);
  }

  private sweep(): void {
    const nowMs = this.clock.now();
    for (const arrival of this.arriving) arrival.expire();
    if (this.answers.hasWaiting) for (const call of this.sending) call.cutOffIfUnreadSince(nowMs - unreadMs);
    const shed = this.door.takeShed();
    if (shed.connections > 0)
      this.logger.warn(
        { connections: shed.connections, resets: shed.resets },
        "connections closed that reset too many calls",
      );
    if (shed.refusedConnections > 0)
      this.logger.warn({ connections: shed.refusedConnections }, "connections refused: too many are open");
  }
}
