import {
  type CallOptions,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { type ClientOptions, clientOptions } from "../../config/client-options.js";
import * as contract from "../../contract/gen/quire/v1/workspace_service.js";
import { LedgerError } from "../client/ledger-error.js";
import type { ServerFlags } from "../commands/options.js";

const DEADLINE_MS = 60_000;

type Unary<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

/** The generated client of WorkspaceService with promises; every failure is a LedgerError. */
export class Workspaces {
  readonly #address: string;
  readonly #client: contract.WorkspaceServiceClient;

  constructor({ address, authorities }: ClientOptions) {
    this.#address = address;
    const channel = authorities ? credentials.createSsl(authorities) : credentials.createInsecure();
    this.#client = new contract.WorkspaceServiceClient(address, channel, {
      "grpc.max_receive_message_length": -1,
    });
  }

  close(): void {
    this.#client.close();
  }

  put(request: contract.PutWorkspaceRequest): Promise<contract.PutWorkspaceResponse> {
    return this.#call(this.#client.putWorkspace, request);
  }

  get(request: contract.GetWorkspaceRequest): Promise<contract.GetWorkspaceResponse> {
    return this.#call(this.#client.getWorkspace, request);
  }

  list(request: contract.ListWorkspacesRequest): Promise<contract.ListWorkspacesResponse> {
    return this.#call(this.#client.listWorkspaces, request);
  }

  putDocuments(request: contract.PutDocumentsRequest): Promise<contract.PutDocumentsResponse> {
    return this.#call(this.#client.putDocuments, request);
  }

  putCapabilities(request: contract.PutCapabilitiesRequest): Promise<contract.PutCapabilitiesResponse> {
    return this.#call(this.#client.putCapabilities, request);
  }

  getCapabilities(request: contract.GetCapabilitiesRequest): Promise<contract.GetCapabilitiesResponse> {
    return this.#call(this.#client.getCapabilities, request);
  }

  putToolset(request: contract.PutToolsetRequest): Promise<contract.PutToolsetResponse> {
    return this.#call(this.#client.putToolset, request);
  }

  getToolset(request: contract.GetToolsetRequest): Promise<contract.GetToolsetResponse> {
    return this.#call(this.#client.getToolset, request);
  }

  #call<Request, Response>(method: Unary<Request, Response>, request: Request): Promise<Response> {
    const options = { deadline: Date.now() + DEADLINE_MS };
    return new Promise((resolve, reject) => {
      method.call(this.#client, request, new Metadata(), options, (error, response) => {
        if (error) reject(LedgerError.from(error, this.#address));
        else resolve(response);
      });
    });
  }
}

/** Runs a piece of work with a connection that is closed afterwards. */
export async function withWorkspaces<T>(
  flags: ServerFlags,
  work: (workspaces: Workspaces) => Promise<T>,
): Promise<T> {
  const workspaces = new Workspaces(clientOptions(flags));
  try {
    return await work(workspaces);
  } finally {
    workspaces.close();
  }
}
