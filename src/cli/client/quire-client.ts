import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import type { ClientOptions } from "../../config/client-options.js";
import {
  type CallsOf,
  type MethodDefinition,
  methodPath,
  type ServerStreamCall,
  type ServiceDefinition,
  type UnaryCall,
} from "../../contract/service.js";
import { services } from "../../contract/services.js";
import { CallError } from "./call-error.js";

export interface ClientCallOptions {
  /** How long an answer may take; streams take as long as they take. */
  readonly timeoutMs?: number;
}

type Services = typeof services;
export type Ledger = CallsOf<Services["ledger"], ClientCallOptions>;
export type Capsules = CallsOf<Services["capsules"], ClientCallOptions>;
export type Workspaces = CallsOf<Services["workspaces"], ClientCallOptions>;
export type Memory = CallsOf<Services["memory"], ClientCallOptions>;
export type Sources = CallsOf<Services["sources"], ClientCallOptions>;
export type Assembly = CallsOf<Services["assembly"], ClientCallOptions>;

const defaultTimeoutMs = 60_000;

/** The methods of a server, as functions over one connection. Every failure is a CallError. */
export class QuireClient {
  readonly address: string;
  readonly ledger: Ledger;
  readonly capsules: Capsules;
  readonly workspaces: Workspaces;
  readonly memory: Memory;
  readonly sources: Sources;
  readonly assembly: Assembly;
  private readonly client: Client;

  constructor({ address, authorities }: Pick<ClientOptions, "address" | "authorities">) {
    this.address = address;
    const channel = authorities ? credentials.createSsl(authorities) : credentials.createInsecure();
    this.client = new Client(address, channel, { "grpc.max_receive_message_length": -1 });
    this.ledger = this.bind(services.ledger);
    this.capsules = this.bind(services.capsules);
    this.workspaces = this.bind(services.workspaces);
    this.memory = this.bind(services.memory);
    this.sources = this.bind(services.sources);
    this.assembly = this.bind(services.assembly);
  }

  close(): void {
    this.client.close();
  }

  private bind<Service extends ServiceDefinition>(service: Service): CallsOf<Service, ClientCallOptions> {
    const calls = Object.entries(service.methods).map(([name, method]) => {
      const path = methodPath(service, method);
      return [name, method.responseStream ? this.stream(path, method) : this.unary(path, method)];
    });
    return Object.fromEntries(calls) as CallsOf<Service, ClientCallOptions>;
  }

  private unary(path: string, method: MethodDefinition): UnaryCall<unknown, unknown, ClientCallOptions> {
    const { encode, decode } = codecsOf(method);
    return (request, { timeoutMs = defaultTimeoutMs } = {}) => {
      const options = { deadline: Date.now() + timeoutMs };
      return new Promise((resolve, reject) => {
        this.client.makeUnaryRequest(
          path,
          encode,
          decode,
          request,
          new Metadata(),
          options,
          (error, response) => (error ? reject(CallError.from(error, this.address)) : resolve(response)),
        );
      });
    };
  }

  private stream(
    path: string,
    method: MethodDefinition,
  ): ServerStreamCall<unknown, unknown, ClientCallOptions> {
    const { client, address } = this;
    const { encode, decode } = codecsOf(method);
    return async function* (request) {
      const stream = client.makeServerStreamRequest(path, encode, decode, request);
      try {
        yield* stream;
      } catch (error) {
        throw CallError.from(error as ServiceError, address);
      } finally {
        stream.cancel();
      }
    };
  }
}

function codecsOf({ requestType, responseType }: MethodDefinition) {
  return {
    encode: (request: object) => Buffer.from(requestType.encode(requestType.fromPartial(request)).finish()),
    decode: (bytes: Buffer) => responseType.decode(bytes),
  };
}
