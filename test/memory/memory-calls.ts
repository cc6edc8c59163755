import { credentials, type ServiceError } from "@grpc/grpc-js";
import {
  MemoryServiceClient,
  MemoryServiceDefinition,
} from "../../src/contract/gen/quire/v1/memory_service.js";
import type { DeepPartial } from "../../src/contract/gen/quire/v1/message.js";
import type { RequestOf, ResponseOf } from "../../src/contract/service.js";

type Methods = MemoryServiceDefinition["methods"];
type Callback = (error: ServiceError | null, response: unknown) => void;

export type MemoryCalls = {
  readonly [Name in keyof Methods]: (
    request: DeepPartial<RequestOf<Methods[Name]>>,
  ) => Promise<ResponseOf<Methods[Name]>>;
} & { readonly client: MemoryServiceClient; close(): void };

/** MemoryService through the generated client, as promises. */
export function memoryCalls(address: string): MemoryCalls {
  const client = new MemoryServiceClient(address, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.max_send_message_length": -1,
  });
  const calls = Object.entries(MemoryServiceDefinition.methods).map(([name, { requestType }]) => [
    name,
    (request: object) =>
      new Promise((resolve, reject) => {
        const full = requestType.fromPartial(request as never);
        const send = client[name as "getBlock"].bind(client) as unknown as (
          all: object,
          done: Callback,
        ) => void;
        send(full, (error, response) => (error ? reject(error) : resolve(response)));
      }),
  ]);
  return { ...Object.fromEntries(calls), client, close: () => client.close() } as unknown as MemoryCalls;
}
