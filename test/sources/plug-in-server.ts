import { Server, ServerCredentials, type UntypedHandleCall } from "@grpc/grpc-js";
import { onTestFinished } from "vitest";
import {
  ContextSourceServiceService,
  type DescribeResponse,
  type FetchRequest,
  FetchResponse,
} from "../../src/contract/gen/quire/v1/context_source_service.js";
import type { DeepPartial } from "../../src/contract/gen/quire/v1/message.js";

export interface PlugInServer {
  readonly address: string;
  readonly requests: FetchRequest[];
  stop(): void;
}

type Answer = DeepPartial<FetchResponse> | "hang" | "crash" | Buffer;

/** A plug-in on a real connection. It answers with what it is told to: also with bytes that are no answer, or not at all. */
export async function startPlugIn(
  answer: (request: FetchRequest) => Answer,
  { contract = "quire.v1", port = 0, secured = ServerCredentials.createInsecure() } = {},
): Promise<PlugInServer> {
  const server = new Server({ "grpc.max_send_message_length": -1 });
  const requests: FetchRequest[] = [];
  const fetch = {
    ...ContextSourceServiceService.fetch,
    responseSerialize: (value: unknown) =>
      Buffer.isBuffer(value) ? value : Buffer.from(FetchResponse.encode(value as FetchResponse).finish()),
  };
  server.addService(
    { describe: ContextSourceServiceService.describe, fetch },
    {
      describe: ((_: unknown, done: (error: null, value: DescribeResponse) => void) =>
        done(null, { contract, version: "1.2.3" })) as UntypedHandleCall,
      fetch: ((call: { request: FetchRequest }, done: (error: null, value: unknown) => void) => {
        requests.push(call.request);
        const given = answer(call.request);
        if (given === "hang") return;
        if (given === "crash") server.forceShutdown();
        else done(null, Buffer.isBuffer(given) ? given : FetchResponse.fromPartial(given));
      }) as UntypedHandleCall,
    },
  );
  const bound = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${port}`, secured, (error, found) =>
      error ? reject(error) : resolve(found),
    ),
  );
  const stop = () => server.forceShutdown();
  onTestFinished(stop);
  return { address: `127.0.0.1:${bound}`, requests, stop };
}
