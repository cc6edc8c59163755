import { constants, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Clock } from "../../domain/clock.js";
import { ResetAllowance } from "./reset-allowance.js";

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;
type TakeStream = (stream: ServerHttp2Stream, headers: Headers, ...rest: readonly unknown[]) => void;
type LetIn = (stream: ServerHttp2Stream, connection: object, path: string, take: () => void) => void;

interface Waiting {
  readonly stream: ServerHttp2Stream;
  readonly connection: ServerHttp2Session;
  readonly path: string;
  readonly take: () => void;
}

/** What was turned away since it was last asked. */
export interface Shed {
  readonly connections: number;
  readonly resets: number;
  readonly refusedConnections: number;
}

/** Others get a turn of the event loop after so many. */
const maxOpenedAtOnce = 128;
const ignore = (): void => undefined;

/**
 * Stands before grpc-js on an http2 server. A stream is passed on when all that came with it in one read was seen, so a
 * call that was opened and reset in the same breath costs nothing more. A connection that resets too many is closed.
 */
export class StreamDoor {
  private readonly allowances = new WeakMap<ServerHttp2Session, ResetAllowance>();
  private readonly flooding = new WeakSet<ServerHttp2Session>();
  private readonly guarded = new WeakSet<Http2Server>();
  private waiting: Waiting[] = [];
  private shed = { connections: 0, resets: 0, refusedConnections: 0 };

  constructor(
    private readonly clock: Clock,
    private readonly letIn: LetIn,
  ) {}

  /** Takes the place of those who listen to the server's streams, and passes on to them. */
  guard(server: Http2Server, maxConnections: number): void {
    if (this.guarded.has(server)) return;
    this.guarded.add(server);
    server.maxConnections = maxConnections;
    server.on("drop", () => {
      this.shed.refusedConnections++;
    });
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
      if (this.waiting.length === 0) setImmediate(() => this.open());
      this.waiting.push({ stream, connection, path: String(headers[":path"] ?? ""), take });
    });
  }

  takeShed(): Shed {
    const { shed } = this;
    this.shed = { connections: 0, resets: 0, refusedConnections: 0 };
    return shed;
  }

  private open(): void {
    const opened = this.waiting.slice(0, maxOpenedAtOnce);
    this.waiting = this.waiting.slice(maxOpenedAtOnce);
    if (this.waiting.length > 0) setImmediate(() => this.open());
    for (const { stream, connection, path, take } of opened) {
      if (connection.destroyed || this.flooding.has(connection)) continue;
      if (stream.destroyed) {
        this.countReset(connection);
        continue;
      }
      stream.once("close", () => {
        if (stream.aborted && !connection.destroyed && !connection.closed) this.countReset(connection);
      });
      this.letIn(stream, connection, path, take);
    }
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
