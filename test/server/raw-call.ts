import { once } from "node:events";
import { connect, constants } from "node:http2";

/** A unary call by a client that has no clock and no patience of its own: what it is told is the server's word alone. */
export async function rawUnary(
  address: string,
  method: string,
  message: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number; readonly message: string }> {
  const session = connect(`http://${address}`);
  try {
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: "POST",
      [constants.HTTP2_HEADER_PATH]: `/quire.v1.LedgerService/${method}`,
      [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc",
      [constants.HTTP2_HEADER_TE]: "trailers",
      ...headers,
    });
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([prefix, message]));
    let trailers: Readonly<Record<string, unknown>> = {};
    for (const event of ["response", "trailers"]) {
      stream.on(event, (received: Readonly<Record<string, unknown>>) => {
        trailers = { ...trailers, ...received };
      });
    }
    stream.resume();
    await once(stream, "close");
    return {
      code: Number(trailers["grpc-status"]),
      message: decodeURI(String(trailers["grpc-message"] ?? "")),
    };
  } finally {
    session.close();
  }
}
