import {
  constants,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import type { Clock } from "../../domain/clock.js";
import { IdleConnections } from "./idle-connections.js";
import { ResetAllowance } from "./reset-allowance.js";

type Headers = IncomingHttpHeaders;
type TakeStream = (stream: ServerHttp2Stream, headers: Headers, ...rest: readonly unknown[]) => void;
type LetIn = (stream: ServerHttp2Stream, connection: object, headers: Headers, take: () => void) => void;

interface Waiting {
  readonly stream: ServerHttp2Stream;
  readonly headers: Headers;
  readonly take: () => void;
}

/** What was turned away since it was last asked. */
export interface Shed {
  readonly connections: number;
  readonly resets: number;
  readonly refusedConnections: number;
}

/** Others get a turn of the event loop after so many. */
const maxOpenedAtOnce = 64;
const ignore = (): void => undefined;

/**
 * Stands before grpc-js on an http2 server. A stream is passed on when all that came with it in one read was seen, so a
 * call that was opened and reset in the same breath costs nothing more. A connection that resets too many is closed.
 */
export class StreamDoor {
  private readonly allowances = new WeakMap<ServerHttp2Session, ResetAllowance>();
  private readonly flooding = new WeakSet<ServerHttp2Session>();
  private readonly guarded = new WeakSet<Http2Server>();
  /** Those who wait are taken connection by connection, so that a flood on one keeps no other waiting. */
  private readonly waiting = new Map<ServerHttp2Session, Waiting[]>();
  private readonly sockets = new Set<Socket>();
  private readonly idle: IdleConnections;
  private shed = { connections: 0, resets: 0, refusedConnections: 0 };

  constructor(
    private readonly clock: Clock,
    private readonly letIn: LetIn,
  ) {
    this.idle = new IdleConnections(clock);
  }

  /** Takes the place of those who listen to the server's streams, and passes on to them. */
  guard(server: Http2Server, maxConnections: number): void {
    if (this.guarded.has(server)) return;
    this.guarded.add(server);
    server.maxConnections = maxConnections;
    server.on("drop", () => {
      this.shed.refusedConnections++;
    });
    server.on("connection", (socket: Socket) => {
      this.sockets.add(socket);
      socket.once("close", () => this.sockets.delete(socket));
    });
    server.on("session", (connection: ServerHttp2Session) => this.idle.opened(connection));
    const listeners = server.listeners("stream") as TakeStream[];
    server.removeAllListeners("stream");
    server.on("stream", (stream: ServerHttp2Stream, headers: Headers, ...rest: readonly unknown[]) => {
      // Nobody else listens before it is passed on, and an error without a listener ends the process.
      stream.on("error", ignore);
      const connection = stream.session as ServerHttp2Session;
      const take = () => {
        for (const listener of listeners) listener.call(server, stream, headers, ...rest);
      };
      if (this.flooding.has(connection)) return;
      if (this.waiting.size === 0) setImmediate(() => this.open());
      const queue = this.waiting.get(connection) ?? [];
      queue.push({ stream, headers, take });
      this.waiting.set(connection, queue);
    });
  }

  /** Ends every connection, those too whose session is gone while their socket still waits for its peer. */
  cutOff(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Closes connections that nobody has used for a while. */
  closeIdle(): void {
    this.idle.closeIdle();
  }

  takeShed(): Shed {
    const { shed } = this;
    this.shed = { connections: 0, resets: 0, refusedConnections: 0 };
    return shed;
  }

  private open(): void {
    const share = Math.ceil(maxOpenedAtOnce / this.waiting.size);
    for (const [connection, queue] of this.waiting) {
      const isGone = connection.destroyed || this.flooding.has(connection);
      const opened = isGone ? queue.splice(0) : queue.splice(0, share);
      if (queue.length === 0) this.waiting.delete(connection);
      if (!isGone) for (const entry of opened) this.pass(connection, entry);
    }
    if (this.waiting.size > 0) setImmediate(() => this.open());
  }

  private pass(connection: ServerHttp2Session, { stream, headers, take }: Waiting): void {
    if (connection.destroyed || this.flooding.has(connection)) return;
    if (stream.destroyed) {
      this.countReset(connection);
      return;
    }
    this.idle.called(connection, stream);
    stream.once("close", () => {
      if (stream.aborted && !connection.destroyed && !connection.closed) this.countReset(connection);
    });
    this.letIn(stream, connection, headers, take);
  }

  private countReset(connection: ServerHttp2Session): void {
    if (this.flooding.has(connection)) return;
    const nowMs = this.clock.now();
    const allowance = this.allowances.get(connection) ?? new ResetAllowance(nowMs);
    this.allowances.set(connection, allowance);
    if (!allowance.isSpentBy(nowMs)) return;
    this.shed.connections++;
    this.shed.resets += allowance.resets;
    this.flooding.add(connection);
    // Not now: in the middle of a read, nghttp2 would be left with streams that are gone, and ends the process.
    setImmediate(() => connection.destroy(constants.NGHTTP2_ENHANCE_YOUR_CALM as unknown as Error));
  }
}
