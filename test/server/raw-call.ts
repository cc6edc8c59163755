import { framed, RawConnection, type RawStatus, statusOf } from "./raw-connection.js";

/** A unary call by a client that has no clock and no patience of its own: what it is told is the server's word alone. */
export async function rawUnary(
  address: string,
  method: string,
  message: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawStatus> {
  const connection = new RawConnection(address);
  try {
    const stream = connection.start(method, headers);
    stream.end(framed(message));
    return await statusOf(stream);
  } finally {
    connection.close();
  }
}
