import { WorkspaceServiceDefinition } from "../../contract/gen/quire/v1/workspace_service.js";
import { getCapabilities, putCapabilities } from "../../workspace/capabilities.js";
import type { WorkspaceDeps } from "../../workspace/deps.js";
import { getDocument, putDocuments } from "../../workspace/documents.js";
import { deleteToolset, getToolset, putToolset } from "../../workspace/toolsets.js";
import { deleteWorkspace, getWorkspace, listWorkspaces, putWorkspace } from "../../workspace/workspaces.js";
import { paged } from "../paged.js";
import { type Service, service } from "../service.js";

/** WorkspaceService: each RPC is one command on workspaces. */
export function workspaceService(workspaces: WorkspaceDeps): Service<WorkspaceServiceDefinition> {
  return service(WorkspaceServiceDefinition, {
    putWorkspace: (request, { key }) => putWorkspace(workspaces, key, request),
    getWorkspace: ({ name }, { tenantId }) => getWorkspace(workspaces, tenantId, name),
    listWorkspaces: (request, { tenantId }) => listWorkspaces(workspaces, tenantId, paged(request)),
    deleteWorkspace: ({ name }, { key }) => deleteWorkspace(workspaces, key, name),
    putDocuments: (request, { key, signal }) => putDocuments(workspaces, key, request, signal),
    getDocument: ({ workspace, path }, { tenantId }) => getDocument(workspaces, tenantId, workspace, path),
    putCapabilities: ({ workspace, snapshot }, { key }) =>
      putCapabilities(workspaces, key, workspace, snapshot!),
    getCapabilities: ({ workspace }, { tenantId }) => getCapabilities(workspaces, tenantId, workspace),
    putToolset: ({ workspace, toolset }, { key, signal }) =>
      putToolset(workspaces, key, workspace, toolset!, signal),
    getToolset: ({ workspace, name }, { tenantId }) => getToolset(workspaces, tenantId, workspace, name),
    deleteToolset: ({ workspace, name }, { key }) => deleteToolset(workspaces, key, workspace, name),
  });
}
