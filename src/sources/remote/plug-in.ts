import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import {
  ContextSourceServiceService as contextSource,
  type DescribeResponse,
  type FetchRequest,
  type FetchResponse,
} from "../../contract/gen/quire/v1/context_source_service.js";
import type { SourceEndpoint } from "../../domain/source-item.js";
import { SourceFailure } from "../source-failure.js";
import { parseAddress, targetOf } from "./allowed-addresses.js";

const contract = "quire.v1";
export const usualAnswerBytes = 262_144;

/** A connection to a plug-in. It is made when it is first needed, and again when it was lost. */
export class PlugIn {
  private readonly client: Client;
  private readonly maxBytes: number;
  private described: Promise<DescribeResponse> | undefined;

  constructor({ address, tls, maxAnswerBytes }: SourceEndpoint) {
    const place = parseAddress(address);
    if (!place) throw new SourceFailure("its address is no host and port");
    this.maxBytes = maxAnswerBytes || usualAnswerBytes;
    const secured = tls
      ? credentials.createSsl(tls.caPem === "" ? null : Buffer.from(tls.caPem))
      : credentials.createInsecure();
    const serverName = tls ? tls.serverName || place.host : "";
    this.client = new Client(targetOf(place), secured, {
      "grpc.max_receive_message_length": this.maxBytes,
      "grpc.max_send_message_length": 4 * 1024 * 1024,
      // Nothing but the address decides where a call goes: no proxy, no settings from DNS.
      "grpc.enable_http_proxy": 0,
      "grpc.service_config_disable_resolution": 1,
      "grpc.use_local_subchannel_pool": 1,
      "grpc.initial_reconnect_backoff_ms": 200,
      "grpc.min_reconnect_backoff_ms": 200,
      "grpc.max_reconnect_backoff_ms": 2_000,
      ...(serverName === ""
        ? {}
        : { "grpc.ssl_target_name_override": serverName, "grpc.default_authority": serverName }),
    });
  }

  /** Asks what the context should know, of a plug-in that speaks this contract. */
  async fetch(request: FetchRequest, signal: AbortSignal, deadlineMs: number): Promise<FetchResponse> {
    this.described ??= this.describe(signal, deadlineMs);
    const described = this.described;
    try {
      await described;
    } catch (error) {
      if (this.described === described) this.described = undefined;
      throw error;
    }
    return this.call(contextSource.fetch, request, signal, deadlineMs);
  }

  async describe(signal: AbortSignal, deadlineMs: number): Promise<DescribeResponse> {
    const answer = await this.call(contextSource.describe, {}, signal, deadlineMs);
    if (answer.contract !== contract)
      throw new SourceFailure(`it speaks ${JSON.stringify(answer.contract.slice(0, 64))}, not ${contract}`);
    return answer;
  }

  /** Whether it says that it serves; a plug-in that has no health service says nothing, which is as good. */
  async isServing(signal: AbortSignal, deadlineMs: number): Promise<boolean> {
    try {
      const answer = await this.call(healthCheck, Buffer.alloc(0), signal, deadlineMs);
      // HealthCheckResponse: field 1 is the status, and 1 is SERVING.
      return answer[0] === 0x08 && answer[1] === 1;
    } catch (error) {
      if (error instanceof SourceFailure && error.message === notServed) return true;
      throw error;
    }
  }

  close(): void {
    this.client.close();
  }

  private call<Request, Answer>(
    { path, requestSerialize, responseDeserialize }: Method<Request, Answer>,
    request: Request,
    signal: AbortSignal,
    deadlineMs: number,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: Answer) => {
        signal.removeEventListener("abort", cancel);
        if (error) reject(this.failure(error));
        else resolve(answer!);
      };
      const options = { deadline: Date.now() + deadlineMs };
      const call = this.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        new Metadata(),
        options,
        done,
      );
      const cancel = () => call.cancel();
      signal.addEventListener("abort", cancel, { once: true });
    });
  }

  private failure(error: ServiceError): SourceFailure {
    const words: Partial<Record<status, string>> = {
      [status.UNAVAILABLE]: whyUnreachable(error.details),
      // Only the plug-in's own doing is looked at: nobody waits for what was cancelled here.
      [status.CANCELLED]: gone,
      [status.RESOURCE_EXHAUSTED]: `its answer is larger than ${this.maxBytes.toLocaleString("en")} bytes, or it is overloaded`,
      [status.INTERNAL]: "its answer cannot be read",
      [status.UNIMPLEMENTED]: notServed,
      [status.DEADLINE_EXCEEDED]: "it did not answer in time",
    };
    return new SourceFailure(words[error.code] ?? `it failed with ${status[error.code]}`, { cause: error });
  }
}

const gone = "it cannot be reached, or ended in the middle of its answer";
/** What the connection failed with, in the client's words and in ours. */
const connectionFailures: readonly (readonly [RegExp, string])[] = [
  [/ERR_TLS_CERT_ALTNAME_INVALID/, "its certificate is for another name"],
  [/certificate has expired|CERT_HAS_EXPIRED/, "its certificate has expired"],
  [/certificate/i, "its certificate is of no authority that is trusted for it"],
  [/wrong version number|packet length too long|unknown protocol/, "it does not speak TLS"],
  [/ECONNREFUSED/, "nothing listens at its address"],
  [/Name resolution failed|ENOTFOUND/, "its name has no address"],
];

function whyUnreachable(details: string): string {
  return connectionFailures.find(([words]) => words.test(details))?.[1] ?? gone;
}

const notServed = "it does not serve the contract";

interface Method<Request, Answer> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Answer;
}

const healthCheck: Method<Buffer, Buffer> = {
  path: "/grpc.health.v1.Health/Check",
  requestSerialize: (bytes) => bytes,
  responseDeserialize: (bytes) => bytes,
};
