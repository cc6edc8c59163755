import { Client, credentials, type MethodDefinition, type ServiceError, status } from "@grpc/grpc-js";
import { CallError } from "../../src/cli/client/call-error.js";

/** How calls ended: "served", or the code and reason of a refusal; with how many. */
export type Tally = Record<string, number>;

export const served = "served";
/** A call that has not ended yet. */
export const unanswered = "without an answer";

/** Calls over one connection of its own, and notes how each ended. */
export class Caller {
  private readonly client: Client;

  constructor(
    private readonly address: string,
    readonly tally: Tally,
    private readonly deadlineMs: number,
  ) {
    this.client = new Client(address, credentials.createInsecure(), {
      "grpc.max_receive_message_length": -1,
      "grpc.max_send_message_length": -1,
      "grpc.use_local_subchannel_pool": 1,
      "grpc.max_reconnect_backoff_ms": 500,
    });
  }

  /** The answer; undefined where there is none. */
  async call<Request, Response>(
    method: MethodDefinition<Request, Response>,
    request: Request,
  ): Promise<Response | undefined> {
    this.note(unanswered);
    try {
      const answer = await this.must(method, request);
      this.note(served);
      return answer;
    } catch (error) {
      this.note(endOf(error as ServiceError, this.address));
      return undefined;
    } finally {
      this.note(unanswered, -1);
    }
  }

  /** The same for what has to work. */
  must<Request, Response>(method: MethodDefinition<Request, Response>, request: Request): Promise<Response> {
    const { path, requestSerialize, responseDeserialize } = method;
    const options = { deadline: Date.now() + this.deadlineMs };
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        options,
        (error, answer) => (error ? reject(error) : resolve(answer!)),
      );
    });
  }

  /** A stream that is read to its end. */
  stream<Request, Response>(
    method: MethodDefinition<Request, Response>,
    request: Request,
    onData: (response: Response) => void = () => undefined,
  ): Promise<void> {
    const { path, requestSerialize, responseDeserialize } = method;
    const call = this.client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
    return new Promise((resolve) => {
      call.on("data", onData);
      call.on("end", () => this.note(served));
      call.on("error", (error: ServiceError) => this.note(endOf(error, this.address)));
      call.on("close", resolve);
    });
  }

  note(end: string, count = 1): void {
    this.tally[end] = (this.tally[end] ?? 0) + count;
  }

  close(): void {
    this.client.close();
  }
}

function endOf(error: ServiceError, address: string): string {
  const { code, reason } = CallError.from(error, address);
  return `${status[code]}${reason && reason !== status[code] ? ` ${reason}` : ""}`;
}
