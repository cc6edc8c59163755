import type { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import type { DeepPartial } from "./gen/quire/v1/message.js";

/** How a message is written and read. */
interface Codec<T> {
  encode(message: T, writer?: BinaryWriter): BinaryWriter;
  decode(input: BinaryReader | Uint8Array): T;
  fromPartial(partial: DeepPartial<T>): T;
}

/** A method of a service, as generated. */
export interface MethodDefinition<Request = unknown, Response = unknown> {
  readonly name: string;
  readonly requestType: Codec<Request>;
  readonly responseType: Codec<Response>;
  readonly responseStream: boolean;
}

/** A service of the contract, as generated. */
export interface ServiceDefinition {
  readonly fullName: string;
  readonly methods: { readonly [name: string]: MethodDefinition };
}

export interface CallOptions {
  /** Stops the call, and the server's work on it. */
  readonly signal?: AbortSignal;
  /** How long the call may take, its retries included: 60 seconds unless the connection says otherwise. Streams have no end of their own. */
  readonly timeoutMs?: number;
}

type RequestOf<Method extends MethodDefinition> = ReturnType<Method["requestType"]["decode"]>;
type ResponseOf<Method extends MethodDefinition> = ReturnType<Method["responseType"]["decode"]>;

/** The methods of a service as functions, documented by the contract. A request has only the fields that matter. */
export type CallsOf<Service extends ServiceDefinition> = {
  readonly [Name in keyof Service["methods"]]: Service["methods"][Name]["responseStream"] extends true
    ? (
        request: DeepPartial<RequestOf<Service["methods"][Name]>>,
        options?: CallOptions,
      ) => AsyncIterable<ResponseOf<Service["methods"][Name]>>
    : (
        request: DeepPartial<RequestOf<Service["methods"][Name]>>,
        options?: CallOptions,
      ) => Promise<ResponseOf<Service["methods"][Name]>>;
};
