import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { ErrorInfo } from "../../src/contract/gen/google/rpc/error_details.js";
import { Status } from "../../src/contract/gen/google/rpc/status.js";

/** What the server said of a call in the end. */
export interface RawStatus {
  readonly code: number;
  readonly message: string;
  readonly reason: string;
}

/** A message as it goes over the wire, with a length that need not be true. */
export function framed(message: Uint8Array, { declared = message.length, compressed = false } = {}): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = compressed ? 1 : 0;
  prefix.writeUInt32BE(declared, 1);
  return Buffer.concat([prefix, message]);
}

/** A client that does what no gRPC library would. */
export class RawConnection {
  readonly session: ClientHttp2Session;

  constructor(address: string) {
    this.session = connect(`http://${address}`);
    this.session.on("error", () => undefined);
  }

  static async open(address: string): Promise<RawConnection> {
    const connection = new RawConnection(address);
    await once(connection.session, "remoteSettings");
    return connection;
  }

  /** A call whose request is for the caller to write, and whose answer is for the caller to read. */
  start(method: string, headers: Readonly<Record<string, string>> = {}): ClientHttp2Stream {
    const stream = this.session.request({
      [constants.HTTP2_HEADER_METHOD]: "POST",
      [constants.HTTP2_HEADER_PATH]: `/quire.v1.LedgerService/${method}`,
      [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc",
      [constants.HTTP2_HEADER_TE]: "trailers",
      ...headers,
    });
    stream.on("error", () => undefined);
    return stream;
  }

  /** Resolves when all that was sent before has reached the server: it takes what comes in order, and answers this. */
  async seen(): Promise<RawStatus> {
    const stream = this.start("GetSession");
    stream.end(framed(Buffer.alloc(0)));
    return statusOf(stream);
  }

  get isOpen(): boolean {
    return !this.session.closed && !this.session.destroyed;
  }

  close(): void {
    this.session.destroy();
  }
}

/** The end of a call that is read to its end. */
export async function statusOf(stream: ClientHttp2Stream): Promise<RawStatus> {
  let trailers: Readonly<Record<string, unknown>> = {};
  for (const event of ["response", "trailers"]) {
    stream.on(event, (received: Readonly<Record<string, unknown>>) => {
      trailers = { ...trailers, ...received };
    });
  }
  stream.resume();
  await once(stream, "close");
  const details = String(trailers["grpc-status-details-bin"] ?? "");
  const info = Status.decode(Buffer.from(details, "base64")).details.find(({ typeUrl }) =>
    typeUrl.endsWith("ErrorInfo"),
  );
  return {
    code: Number(trailers["grpc-status"]),
    message: decodeURI(String(trailers["grpc-message"] ?? "")),
    reason: info ? ErrorInfo.decode(info.value).reason : "",
  };
}
