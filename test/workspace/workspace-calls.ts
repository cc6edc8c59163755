import { credentials, type ServiceError } from "@grpc/grpc-js";
import { CapabilityState, type Tool, ToolKind } from "../../src/contract/gen/quire/v1/workspace.js";
import * as wire from "../../src/contract/gen/quire/v1/workspace_service.js";

/** The service through the generated client, as promises. */

const requests = {
  putWorkspace: wire.PutWorkspaceRequest,
  getWorkspace: wire.GetWorkspaceRequest,
  listWorkspaces: wire.ListWorkspacesRequest,
  deleteWorkspace: wire.DeleteWorkspaceRequest,
  putDocuments: wire.PutDocumentsRequest,
  getDocument: wire.GetDocumentRequest,
  putCapabilities: wire.PutCapabilitiesRequest,
  getCapabilities: wire.GetCapabilitiesRequest,
  putToolset: wire.PutToolsetRequest,
  getToolset: wire.GetToolsetRequest,
  deleteToolset: wire.DeleteToolsetRequest,
};

type Name = keyof typeof requests;

export type WorkspaceCalls = {
  readonly [N in Name]: (
    request: Parameters<(typeof requests)[N]["create"]>[0],
  ) => Promise<ReturnType<(typeof wire.WorkspaceServiceService)[N]["responseDeserialize"]>>;
};

export interface WorkspaceClient extends WorkspaceCalls {
  close(): void;
}

export function workspaceCalls(address: string): WorkspaceClient {
  const client = new wire.WorkspaceServiceClient(address, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
  });
  const calls = Object.fromEntries(
    Object.entries(requests).map(([name, codec]) => [
      name,
      (request: object) =>
        new Promise((resolve, reject) => {
          const done = (error: ServiceError | null, answer: unknown) =>
            error ? reject(error) : resolve(answer);
          const method = client[name as Name] as (...args: readonly unknown[]) => unknown;
          method.call(client, codec.create(request), done);
        }),
    ]),
  ) as unknown as WorkspaceCalls;
  return { ...calls, close: () => client.close() };
}

export function capability(name: string, category: string, state: CapabilityState = CapabilityState.READY) {
  return { name, category, state, reason: "", hint: "" };
}

export function tool(name: string, more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: "",
    inputSchemaJson: "",
    kind: ToolKind.OTHER,
    capability: "",
    requiredPermissions: [],
    dangerous: false,
    ...more,
  };
}
