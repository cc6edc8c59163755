import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import {
  type AssembleResponse,
  AssemblyServiceClient,
  type BuildContextResponse,
  ContextRequest,
  ReplayContextRequest,
} from "../../src/contract/gen/quire/v1/assembly_service.js";
import { CapsuleServiceClient, PutCapsuleRequest } from "../../src/contract/gen/quire/v1/capsule_service.js";
import { WorkspaceServiceClient } from "../../src/contract/gen/quire/v1/workspace_service.js";
import { openDatabase } from "../../src/storage/driver/database-sync.js";
import type { TestServer } from "../support/server.js";

type Unary<Request, Response> = (
  request: Request,
  callback: (error: ServiceError | null, response: Response) => void,
) => unknown;

const event = { content: [{ content: { $case: "text" as const, value: { text: "now" } } }] };

/** Calls of the services around the ledger, for the errors that only they give. */
export class AssemblyCalls {
  private readonly capsules;
  private readonly workspaces;
  private readonly assembly;

  constructor(private readonly server: TestServer) {
    const options = { "grpc.use_local_subchannel_pool": 1 };
    const plain = credentials.createInsecure();
    this.capsules = new CapsuleServiceClient(server.address, plain, options);
    this.workspaces = new WorkspaceServiceClient(server.address, plain, options);
    this.assembly = new AssemblyServiceClient(server.address, plain, options);
  }

  close(): void {
    for (const client of [this.capsules, this.workspaces, this.assembly]) client.close();
  }

  /** A capsule of this name, with a core prompt of so many words. */
  putCapsule(name: string, words = 5, expectedVersion?: number) {
    const persona = { corePrompt: "be kind ".repeat(words), model: { model: "gpt-4o" } };
    const request = PutCapsuleRequest.fromPartial({
      name,
      body: { persona },
      ...(expectedVersion ? { expectedVersion } : {}),
    });
    return promised(this.capsules, this.capsules.putCapsule, request);
  }

  getCapsule(name: string) {
    return promised(this.capsules, this.capsules.getCapsule, { name, version: 0 });
  }

  recordOutcome(capsule: string) {
    const needed = { system: 1, history: 1, memory: 1, tools: 1, buffer: 1 };
    return promised(this.capsules, this.capsules.recordOutcome, { requestId: "", capsule, needed, score: 1 });
  }

  putWorkspace(name: string) {
    return promised(this.workspaces, this.workspaces.putWorkspace, {
      requestId: "",
      name,
      path: "",
      runtime: undefined,
    });
  }

  getWorkspace(name: string) {
    return promised(this.workspaces, this.workspaces.getWorkspace, { name });
  }

  getDocument(workspace: string, path: string) {
    return promised(this.workspaces, this.workspaces.getDocument, { workspace, path });
  }

  getToolset(workspace: string, name: string) {
    return promised(this.workspaces, this.workspaces.getToolset, { workspace, name });
  }

  reportOverflow(assemblyId: string) {
    const request = { requestId: "", assemblyId, reportedTokens: 0, errorBody: "" };
    return promised(this.assembly, this.assembly.reportOverflow, request);
  }

  build(context: Parameters<typeof ContextRequest.fromPartial>[0]): Promise<BuildContextResponse> {
    return promised(this.assembly, this.assembly.buildContext, {
      context: ContextRequest.fromPartial({ event, ...context }),
      includeCandidates: false,
    });
  }

  /** Stands for the compaction that an engine, which makes its own summaries, is asked for. It keeps at least the last turn. */
  async planToken(session: string): Promise<string> {
    await this.putCapsule("summarizing");
    const context = ContextRequest.fromPartial({
      session,
      capsule: "summarizing",
      event,
      settings: {
        summarizers: { names: ["engine"] },
        keepTurns: 1,
        softThreshold: 1,
        modelLimits: [{ model: "gpt-4o", historyTokens: 800, memoryTokens: 0 }],
      },
    });
    let planToken = "";
    for await (const response of this.assembly.assemble({ context })) {
      const { event: found } = response as AssembleResponse;
      if (found?.$case === "compaction" && found.value.event?.$case === "needed")
        planToken = found.value.event.value.planToken;
    }
    return planToken;
  }

  getReceipt(assemblyId: string) {
    return promised(this.assembly, this.assembly.getReceipt, { assemblyId });
  }

  replay(assemblyId: string) {
    return promised(this.assembly, this.assembly.replayContext, ReplayContextRequest.create({ assemblyId }));
  }

  /** Takes away what receipts name, as an operator's clean-up by hand would. */
  async dropLayers(): Promise<void> {
    const database = openDatabase(join(this.server.folder, "quire.db"));
    try {
      const count = () => database.prepare("SELECT id FROM receipts").all().length;
      while (count() === 0) await sleep(20);
      database.exec("DELETE FROM receipt_blobs");
    } finally {
      database.close();
    }
  }
}

function promised<Client, Request, Response>(
  client: Client,
  method: Unary<Request, Response>,
  request: Request,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    method.call(client, request, (error, response) => (error ? reject(error) : resolve(response)));
  });
}
