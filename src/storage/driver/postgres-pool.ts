import type { Socket } from "node:net";
import pg from "pg";

export interface PostgresPoolOptions {
  readonly url: string;
  readonly size: number;
  /** How long a connection may take to be made, and a statement to be answered. */
  readonly timeoutMs: number;
}

/**
 * Connections to PostgreSQL. One that is in use and on which nothing moves for the whole time is cut: whoever waits for its answer
 * fails, and the pool opens another. So a server that hangs holds up nobody for ever.
 */
export function openPool({ url, size, timeoutMs }: PostgresPoolOptions): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: size, connectionTimeoutMillis: timeoutMs });
  const halfMs = Math.ceil(timeoutMs / 2);
  const sockets = new Set<Socket>();
  pool.on("connect", (client) => {
    // An error that comes between two listeners of others would end the process. Whoever uses the connection next hears of it.
    client.on("error", () => undefined);
    const socket = socketOf(client);
    cutWhenSilent(socket, halfMs);
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  pool.on("acquire", (client) => socketOf(client).setTimeout(halfMs));
  pool.on("release", (_, client) => socketOf(client).setTimeout(0));
  const end = pool.end.bind(pool);
  const endAndCut = async () => {
    await end();
    // A server that hangs does not answer the goodbye either, and its sockets would keep the process alive.
    for (const socket of sockets) socket.setTimeout(halfMs);
  };
  return Object.assign(pool, { end: endAndCut });
}

/**
 * Two silent halves in a row: the first may be over because this process stood still, and what arrived meanwhile was not read yet.
 */
function cutWhenSilent(socket: Socket, halfMs: number): void {
  let before: number | undefined;
  socket.on("timeout", () => {
    const moved = socket.bytesRead + socket.bytesWritten;
    if (moved === before) {
      socket.destroy(notAnswered());
      return;
    }
    before = moved;
    socket.setTimeout(halfMs);
  });
}

/** In the form of the system's own, which the adapter knows. */
function notAnswered(): Error {
  const code = { code: "ETIMEDOUT", syscall: "read", errno: -110 };
  return Object.assign(new Error("the database did not answer in time"), code);
}

/** Not in the driver's types, but its pool reaches for it in the same way. */
function socketOf(client: pg.PoolClient): Socket {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
}
