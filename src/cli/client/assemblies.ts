import type { ServiceError } from "@grpc/grpc-js";
import type { ClientOptions } from "../../config/client-options.js";
import type { Receipt } from "../../contract/gen/quire/v1/assembly.js";
import * as contract from "../../contract/gen/quire/v1/assembly_service.js";
import type { BodyFormat, BodyProblem } from "../../contract/gen/quire/v1/rendering.js";
import { callUnary, channelCredentials, channelOptions, type Unary } from "./calls.js";
import { LedgerError } from "./ledger-error.js";

/** The generated client of AssemblyService with promises; every failure is a LedgerError. */
export class Assemblies {
  readonly #address: string;
  readonly #client: contract.AssemblyServiceClient;

  constructor(options: ClientOptions) {
    this.#address = options.address;
    this.#client = new contract.AssemblyServiceClient(
      options.address,
      channelCredentials(options),
      channelOptions,
    );
  }

  close(): void {
    this.#client.close();
  }

  async *assemble(context: contract.ContextRequest): AsyncGenerator<contract.AssembleResponse> {
    const stream = this.#client.assemble({ context });
    try {
      for await (const response of stream) yield response as contract.AssembleResponse;
    } catch (error) {
      throw LedgerError.from(error as ServiceError, this.#address);
    } finally {
      stream.cancel();
    }
  }

  async getReceipt(assemblyId: string): Promise<Receipt> {
    return (await this.#call(this.#client.getReceipt, { assemblyId })).receipt!;
  }

  compareReceipts(
    firstAssemblyId: string,
    secondAssemblyId: string,
  ): Promise<contract.CompareReceiptsResponse> {
    return this.#call(this.#client.compareReceipts, { firstAssemblyId, secondAssemblyId });
  }

  async listModels(namePrefix: string): Promise<readonly contract.ModelInfo[]> {
    const models: contract.ModelInfo[] = [];
    let pageToken = "";
    do {
      const page = await this.#call(this.#client.listModels, { namePrefix, pageSize: 1_000, pageToken });
      models.push(...page.models);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return models;
  }

  async validateBody(format: BodyFormat, body: Buffer): Promise<readonly BodyProblem[]> {
    return (await this.#call(this.#client.validateBody, { format, body })).problems;
  }

  getCacheReport(session: string, turns: number): Promise<contract.GetCacheReportResponse> {
    return this.#call(this.#client.getCacheReport, { session, turns });
  }

  #call<Request, Response>(method: Unary<Request, Response>, request: Request): Promise<Response> {
    return callUnary(this.#client, this.#address, method, request);
  }
}
