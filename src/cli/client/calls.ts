import {
  type CallOptions,
  type ChannelCredentials,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { type ClientOptions, clientOptions } from "../../config/client-options.js";
import type { ServerFlags } from "../commands/options.js";
import { LedgerError } from "./ledger-error.js";

const DEADLINE_MS = 60_000;

export const channelOptions = { "grpc.max_receive_message_length": -1 } as const;

export function channelCredentials({ authorities }: ClientOptions): ChannelCredentials {
  return authorities ? credentials.createSsl(authorities) : credentials.createInsecure();
}

export type Unary<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

/** A unary call of a generated client as a promise; a failure is a LedgerError. */
export function callUnary<Request, Response>(
  client: unknown,
  address: string,
  method: Unary<Request, Response>,
  request: Request,
): Promise<Response> {
  const options = { deadline: Date.now() + DEADLINE_MS };
  return new Promise((resolve, reject) => {
    method.call(client, request, new Metadata(), options, (error, response) => {
      if (error) reject(LedgerError.from(error, address));
      else resolve(response);
    });
  });
}

/** Runs a piece of work with a connection that is closed afterwards. */
export async function withClient<Client extends { close(): void }, T>(
  Type: new (options: ClientOptions) => Client,
  flags: ServerFlags,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Type(clientOptions(flags));
  try {
    return await work(client);
  } finally {
    client.close();
  }
}
