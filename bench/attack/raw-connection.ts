import { type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders } from "node:http2";
import { status } from "@grpc/grpc-js";
import { ErrorInfo } from "../../src/contract/gen/google/rpc/error_details.js";
import { Status } from "../../src/contract/gen/google/rpc/status.js";
import { served, type Tally, unanswered } from "./caller.js";

/** HTTP/2 without the manners of a gRPC client. */
export class RawConnection {
  private readonly session;
  private readonly answered = new WeakSet<ClientHttp2Stream>();

  constructor(
    address: string,
    readonly tally: Tally,
  ) {
    this.session = connect(`http://${address}`);
    this.session.on("error", () => undefined);
  }

  /** Whether it takes no more calls. */
  get isClosed(): boolean {
    return this.session.closed || this.session.destroyed;
  }

  /** A call whose answer nobody reads unless someone resumes the stream. How it ended is noted when the server says so. */
  open(path: string, headers: Readonly<Record<string, string>> = {}): ClientHttp2Stream {
    const stream = this.session.request({
      [constants.HTTP2_HEADER_METHOD]: "POST",
      [constants.HTTP2_HEADER_PATH]: path,
      [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc",
      [constants.HTTP2_HEADER_TE]: "trailers",
      ...headers,
    });
    const note = (received: IncomingHttpHeaders) => {
      const end = endOf(received);
      if (this.answered.has(stream) || end === undefined) return;
      this.answered.add(stream);
      this.note(end);
    };
    stream.on("response", note);
    stream.on("trailers", note);
    stream.on("error", () => undefined);
    return stream;
  }

  /** Sends a message in pieces; resolves when the call has ended. */
  async unary(
    path: string,
    pieces: readonly Buffer[],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const stream = this.open(path, headers);
    const closed = new Promise<void>((resolve) => stream.once("close", () => resolve()));
    stream.resume();
    const isCompressed = headers["grpc-encoding"] !== undefined;
    stream.write(prefix(pieces, isCompressed));
    for (const piece of pieces) stream.write(piece);
    stream.end();
    this.note(unanswered);
    await closed;
    this.note(unanswered, -1);
    if (!this.answered.has(stream)) this.note("cut off");
  }

  private note(end: string, count = 1): void {
    this.tally[end] = (this.tally[end] ?? 0) + count;
  }

  close(): void {
    this.session.destroy();
  }
}

/** The five bytes before a gRPC message. */
export function prefix(pieces: readonly Buffer[], isCompressed = false): Buffer {
  const bytes = Buffer.alloc(5);
  bytes[0] = isCompressed ? 1 : 0;
  bytes.writeUInt32BE(
    pieces.reduce((sum, piece) => sum + piece.length, 0),
    1,
  );
  return bytes;
}

function endOf(headers: IncomingHttpHeaders): string | undefined {
  if (headers["grpc-status"] === undefined) return undefined;
  const code = Number(headers["grpc-status"]);
  if (code === status.OK) return served;
  const details = String(headers["grpc-status-details-bin"] ?? "");
  const found = Status.decode(Buffer.from(details, "base64")).details.find(({ typeUrl }) =>
    typeUrl.endsWith("/google.rpc.ErrorInfo"),
  );
  const reason = found ? ` ${ErrorInfo.decode(found.value).reason}` : "";
  return `${status[code]}${reason}`;
}
