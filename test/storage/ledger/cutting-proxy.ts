import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";

/** Stands between a client and a PostgreSQL, and cuts connections where it is told to. */
export interface CuttingProxy {
  readonly url: string;
  /**
   * Cuts the connection that next sends such a statement: `before` the server gets it, or `after` it has done it, so
   * that its answer is lost.
   */
  cutAt(statement: string, when: "before" | "after"): void;
  /** Keeps the connection that next sends such a statement, and lets no answer through any more. */
  hangAt(statement: string): void;
  close(): Promise<void>;
}

export async function startCuttingProxy(url: string): Promise<CuttingProxy> {
  const target = new URL(url);
  const address = { host: target.hostname, port: Number(target.port) };
  const sockets = new Set<Socket>();
  let cut: { readonly statement: string; readonly when: "before" | "after" | "never" } | undefined;
  const server = createServer((client) => {
    const upstream = createConnection(address);
    let isLosing = false;
    let isHanging = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
    }
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    client.on("close", end);
    upstream.on("close", end);
    client.on("data", (bytes) => {
      if (cut && bytes.includes(cut.statement)) {
        const { when } = cut;
        cut = undefined;
        if (when === "before") return end();
        isLosing = when === "after";
        isHanging = when === "never";
      }
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (isLosing) end();
      else if (!isHanging) client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  target.port = String((server.address() as AddressInfo).port);
  return {
    url: target.href,
    cutAt(statement, when) {
      cut = { statement, when };
    },
    hangAt(statement) {
      cut = { statement, when: "never" };
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
