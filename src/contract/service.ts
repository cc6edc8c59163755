import type { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import type { DeepPartial } from "./gen/quire/v1/message.js";

/** How a message is written and read. */
export interface Codec<T> {
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

export type RequestOf<Method extends MethodDefinition> = ReturnType<Method["requestType"]["decode"]>;
export type ResponseOf<Method extends MethodDefinition> = ReturnType<Method["responseType"]["decode"]>;

/** A request with only the fields that matter, and its answer. */
export type UnaryCall<Request, Response, Options> = (
  request: DeepPartial<Request>,
  options?: Options,
) => Promise<Response>;

/** A request and the events that answer it. */
export type ServerStreamCall<Request, Response, Options> = (
  request: DeepPartial<Request>,
  options?: Options,
) => AsyncIterable<Response>;

/** The methods of a service as functions, documented by the contract. */
export type CallsOf<Service extends ServiceDefinition, Options> = {
  readonly [Name in keyof Service["methods"]]: CallOf<Service["methods"][Name], Options>;
};

type CallOf<Method extends MethodDefinition, Options> = Method["responseStream"] extends true
  ? ServerStreamCall<RequestOf<Method>, ResponseOf<Method>, Options>
  : UnaryCall<RequestOf<Method>, ResponseOf<Method>, Options>;

/** The path of a method in HTTP/2. */
export function methodPath({ fullName }: ServiceDefinition, { name }: MethodDefinition): string {
  return `/${fullName}/${name}`;
}
