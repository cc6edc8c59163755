import type { Http2Server } from "node:http2";
import type { Server } from "@grpc/grpc-js";

/**
 * The http2 servers below a gRPC server. grpc-js keeps them to itself, and shows a call only when its stream was read
 * already; what floods must be seen before that. This is the one place that knows the private name.
 */
export function http2ServersOf(server: Server): readonly Http2Server[] {
  const { http2Servers } = server as unknown as { readonly http2Servers?: ReadonlyMap<Http2Server, unknown> };
  if (!(http2Servers instanceof Map))
    throw new Error("grpc-js changed: its http2 servers are not where they were");
  return [...http2Servers.keys()];
}
