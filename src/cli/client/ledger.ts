import {
  type CallOptions,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import type { ClientOptions } from "../../config/client-options.js";
import * as contract from "../../contract/gen/quire/v1/ledger_service.js";
import type { Session } from "../../contract/gen/quire/v1/session.js";
import { LedgerError } from "./ledger-error.js";

const DEADLINE_MS = 60_000;
/** A model may make the summary, and take its time. */
const COMPACT_DEADLINE_MS = 300_000;

type Unary<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

/** The generated client with promises; every failure is a LedgerError. */
export class Ledger {
  readonly address: string;
  readonly #client: contract.LedgerServiceClient;

  constructor({ address, authorities }: ClientOptions) {
    this.address = address;
    const channel = authorities ? credentials.createSsl(authorities) : credentials.createInsecure();
    this.#client = new contract.LedgerServiceClient(address, channel, {
      "grpc.max_receive_message_length": -1,
    });
  }

  close(): void {
    this.#client.close();
  }

  createSession(request: contract.CreateSessionRequest): Promise<contract.CreateSessionResponse> {
    return this.#call(this.#client.createSession, request);
  }

  getSession(request: contract.GetSessionRequest): Promise<contract.GetSessionResponse> {
    return this.#call(this.#client.getSession, request);
  }

  /** The session of that label, id or alias, if there is one. */
  async findSession(session: string): Promise<Session | undefined> {
    try {
      return (await this.getSession({ session })).session;
    } catch (error) {
      if (error instanceof LedgerError && error.reason === "SESSION_NOT_FOUND") return undefined;
      throw error;
    }
  }

  listSessions(request: contract.ListSessionsRequest): Promise<contract.ListSessionsResponse> {
    return this.#call(this.#client.listSessions, request);
  }

  forkSession(request: contract.ForkSessionRequest): Promise<contract.ForkSessionResponse> {
    return this.#call(this.#client.forkSession, request);
  }

  recordTurn(request: contract.RecordTurnRequest): Promise<contract.RecordTurnResponse> {
    return this.#call(this.#client.recordTurn, request);
  }

  beginTurn(request: contract.BeginTurnRequest): Promise<contract.BeginTurnResponse> {
    return this.#call(this.#client.beginTurn, request);
  }

  appendMessages(request: contract.AppendMessagesRequest): Promise<contract.AppendMessagesResponse> {
    return this.#call(this.#client.appendMessages, request);
  }

  completeTurn(request: contract.CompleteTurnRequest): Promise<contract.CompleteTurnResponse> {
    return this.#call(this.#client.completeTurn, request);
  }

  getTurn(request: contract.GetTurnRequest): Promise<contract.GetTurnResponse> {
    return this.#call(this.#client.getTurn, request);
  }

  listTurns(request: contract.ListTurnsRequest): Promise<contract.ListTurnsResponse> {
    return this.#call(this.#client.listTurns, request);
  }

  compact(request: contract.CompactRequest): Promise<contract.CompactResponse> {
    return this.#call(this.#client.compact, request, COMPACT_DEADLINE_MS);
  }

  async *streamHistory(
    request: contract.StreamHistoryRequest,
  ): AsyncGenerator<contract.StreamHistoryResponse> {
    const stream = this.#client.streamHistory(request);
    try {
      for await (const batch of stream) yield batch as contract.StreamHistoryResponse;
    } catch (error) {
      throw LedgerError.from(error as ServiceError, this.address);
    } finally {
      stream.cancel();
    }
  }

  #call<Request, Response>(
    method: Unary<Request, Response>,
    request: Request,
    withinMs = DEADLINE_MS,
  ): Promise<Response> {
    const options = { deadline: Date.now() + withinMs };
    return new Promise((resolve, reject) => {
      method.call(this.#client, request, new Metadata(), options, (error, response) => {
        if (error) reject(LedgerError.from(error, this.address));
        else resolve(response);
      });
    });
  }
}
