import type { ClientOptions } from "../../config/client-options.js";
import type { Capsule } from "../../contract/gen/quire/v1/capsule.js";
import * as contract from "../../contract/gen/quire/v1/capsule_service.js";
import { callUnary, channelCredentials, channelOptions, type Unary } from "./calls.js";

/** The generated client of CapsuleService with promises; every failure is a LedgerError. */
export class Capsules {
  readonly #address: string;
  readonly #client: contract.CapsuleServiceClient;

  constructor(options: ClientOptions) {
    this.#address = options.address;
    this.#client = new contract.CapsuleServiceClient(
      options.address,
      channelCredentials(options),
      channelOptions,
    );
  }

  close(): void {
    this.#client.close();
  }

  async put(request: contract.PutCapsuleRequest): Promise<Capsule> {
    return (await this.#call(this.#client.putCapsule, request)).capsule!;
  }

  async get(request: contract.GetCapsuleRequest): Promise<Capsule> {
    return (await this.#call(this.#client.getCapsule, request)).capsule!;
  }

  list(request: contract.ListCapsulesRequest): Promise<contract.ListCapsulesResponse> {
    return this.#call(this.#client.listCapsules, request);
  }

  #call<Request, Response>(method: Unary<Request, Response>, request: Request): Promise<Response> {
    return callUnary(this.#client, this.#address, method, request);
  }
}
