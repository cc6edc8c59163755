import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { status as Code, type Server } from "@grpc/grpc-js";
import type { Config } from "../../config/options.js";
import type { Clock } from "../../domain/clock.js";
import { RunningWork } from "../../domain/running-work.js";
import type { Logger } from "../../telemetry/logger.js";
import type { Method } from "../method.js";
import { encodingOf, isGrpc, timeoutOf } from "../transport/call-headers.js";
import { ServerCall } from "../transport/server-call.js";
import { WireRequest } from "../wire-request.js";
import { AnswerRoom } from "./answer-room.js";
import { Arrival, type ArrivalLimits } from "./arrival.js";
import { ByteBudget } from "./byte-budget.js";
import { CallSlots } from "./call-slots.js";
import { http2ServersOf } from "./http2-servers.js";
import { OneAtATime } from "./one-at-a-time.js";
import { StreamDoor } from "./stream-door.js";

type Limits = Pick<Config, "maxBytesInFlight" | "maxConcurrentCalls" | "maxConnections" | "maxRequestBytes">;

/** Takes a call on, whose request is there. */
export type TakeCall = (call: ServerCall, request: WireRequest) => void;

interface Served {
  readonly method: Method;
  readonly take: TakeCall;
}

const sweepMs = 1_000;

/** What the server takes on at once. Every limit is kept as early as it can be, and nobody is refused who could wait. */
export class Admission {
  readonly slots: CallSlots;
  readonly largeRequests = new OneAtATime();
  /** Calls in work: one whose connection is gone may still be. */
  readonly calls = new RunningWork();
  private readonly served = new Map<string, Served>();
  private readonly requests: ArrivalLimits;
  private readonly answers: AnswerRoom;
  private readonly arriving = new Set<Arrival>();
  private readonly door: StreamDoor;
  private readonly sweeper: NodeJS.Timeout;

  constructor(
    private readonly limits: Limits,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    const { maxBytesInFlight, maxConcurrentCalls, maxRequestBytes } = limits;
    this.slots = new CallSlots(maxConcurrentCalls);
    this.requests = { requests: new ByteBudget("bytes_in_flight", maxBytesInFlight), maxRequestBytes };
    this.answers = new AnswerRoom(maxBytesInFlight, clock);
    this.door = new StreamDoor(clock, (stream, connection, headers, pass) => {
      const served = this.served.get(String(headers[":path"]));
      // What is not served here is grpc-js's: health and reflection, which must answer whatever else goes on, and all that is nothing.
      if (served && isGrpc(headers)) this.letIn(stream, connection, headers, served);
      else pass();
    });
    this.sweeper = setInterval(() => this.sweep(), sweepMs).unref();
  }

  /** Says who takes the calls of a method. */
  serve(method: Method, take: TakeCall): void {
    this.served.set(method.path, { method, take });
  }

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

  private letIn(
    stream: ServerHttp2Stream,
    connection: object,
    headers: IncomingHttpHeaders,
    { method, take }: Served,
  ): void {
    const timeoutMs = timeoutOf(headers);
    if (Number.isNaN(timeoutMs)) {
      const details = `Invalid grpc-timeout value "${headers["grpc-timeout"]}"`;
      new ServerCall(stream, this.answers).refuse({ code: Code.INTERNAL, details });
      return;
    }
    const call = new ServerCall(
      stream,
      this.answers,
      timeoutMs === undefined ? undefined : Date.now() + timeoutMs,
    );
    const arrival = new Arrival(
      stream,
      connection,
      call,
      encodingOf(headers),
      this.requests,
      this.clock,
      (gone) => this.arriving.delete(gone),
      (message) => take(call, new WireRequest(message, method, arrival)),
    );
    this.arriving.add(arrival);
    arrival.start();
  }

  private sweep(): void {
    for (const arrival of this.arriving) arrival.expire();
    this.answers.sweep();
    this.door.closeIdle();
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
