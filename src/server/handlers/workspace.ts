import type { CapabilitySnapshot, Document, Toolset } from "../../contract/gen/quire/v1/workspace.js";
import * as wire from "../../contract/gen/quire/v1/workspace_service.js";
import { getCapabilities, putCapabilities } from "../../workspace/capabilities.js";
import type { WorkspaceDeps } from "../../workspace/deps.js";
import { getDocument, putDocuments } from "../../workspace/documents.js";
import { deleteToolset, getToolset, putToolset } from "../../workspace/toolsets.js";
import { deleteWorkspace, getWorkspace, listWorkspaces, putWorkspace } from "../../workspace/workspaces.js";
import { method } from "../method.js";
import { type RpcsOf, rpc } from "../rpc.js";
import * as validation from "../validation/workspace.js";
import { writeKey } from "../write-key.js";

const defaultPageSize = 50;

/** WorkspaceService: each RPC is its validation and one command on workspaces. */
export function workspaceHandlers(workspaces: WorkspaceDeps): RpcsOf<wire.WorkspaceServiceServer> {
  return {
    putWorkspace: rpc("PutWorkspace", validation.validatePutWorkspace, (request, { tenantId }) =>
      putWorkspace(
        workspaces,
        writeKey(tenantId, "PutWorkspace", request, wire.PutWorkspaceRequest, wire.PutWorkspaceResponse),
        request,
      ),
    ),
    getWorkspace: rpc("GetWorkspace", validation.validateGetWorkspace, (request, { tenantId }) =>
      getWorkspace(workspaces, tenantId, request.name),
    ),
    listWorkspaces: rpc("ListWorkspaces", validation.validateListWorkspaces, (request, { tenantId }) =>
      listWorkspaces(workspaces, tenantId, { ...request, pageSize: request.pageSize || defaultPageSize }),
    ),
    deleteWorkspace: rpc("DeleteWorkspace", validation.validateDeleteWorkspace, (request, { tenantId }) =>
      deleteWorkspace(
        workspaces,
        writeKey(
          tenantId,
          "DeleteWorkspace",
          request,
          wire.DeleteWorkspaceRequest,
          wire.DeleteWorkspaceResponse,
        ),
        request.name,
      ),
    ),
    putDocuments: rpc("PutDocuments", validation.validatePutDocuments, (request, { tenantId, signal }) => {
      const given = { ...request, documents: request.documents.map(givenDocument) };
      return putDocuments(
        workspaces,
        writeKey(tenantId, "PutDocuments", given, wire.PutDocumentsRequest, wire.PutDocumentsResponse),
        given,
        signal,
      );
    }),
    getDocument: rpc("GetDocument", validation.validateGetDocument, (request, { tenantId }) =>
      getDocument(workspaces, tenantId, request.workspace, request.path),
    ),
    putCapabilities: rpc("PutCapabilities", validation.validatePutCapabilities, (request, { tenantId }) => {
      const snapshot = givenSnapshot(request.snapshot!);
      return putCapabilities(
        workspaces,
        writeKey(
          tenantId,
          "PutCapabilities",
          { ...request, snapshot },
          wire.PutCapabilitiesRequest,
          wire.PutCapabilitiesResponse,
        ),
        request.workspace,
        snapshot,
      );
    }),
    getCapabilities: rpc("GetCapabilities", validation.validateGetCapabilities, (request, { tenantId }) =>
      getCapabilities(workspaces, tenantId, request.workspace),
    ),
    putToolset: rpc("PutToolset", validation.validatePutToolset, (request, { tenantId, signal }) => {
      const toolset = givenToolset(request.toolset!);
      return putToolset(
        workspaces,
        writeKey(
          tenantId,
          "PutToolset",
          { ...request, toolset },
          wire.PutToolsetRequest,
          wire.PutToolsetResponse,
        ),
        request.workspace,
        toolset,
        signal,
      );
    }),
    getToolset: rpc("GetToolset", validation.validateGetToolset, (request, { tenantId }) =>
      getToolset(workspaces, tenantId, request.workspace, request.name),
    ),
    deleteToolset: rpc("DeleteToolset", validation.validateDeleteToolset, (request, { tenantId }) =>
      deleteToolset(
        workspaces,
        writeKey(tenantId, "DeleteToolset", request, wire.DeleteToolsetRequest, wire.DeleteToolsetResponse),
        request.workspace,
        request.name,
      ),
    ),
  };
}

/** What a caller gives, without what only the server sets: that may differ between two sends of one request. */

const noHash = Buffer.alloc(0);

function givenDocument({ path, kind, content }: Document): Document {
  return {
    path,
    kind,
    content,
    version: 0,
    hash: noHash,
    sizeBytes: 0,
    o200kTokens: 0,
    updateTime: undefined,
  };
}

function givenSnapshot(snapshot: CapabilitySnapshot): CapabilitySnapshot {
  return { ...snapshot, hash: noHash, snapshotTime: undefined };
}

function givenToolset(toolset: Toolset): Toolset {
  return { ...toolset, version: 0, hash: noHash, o200kTokens: 0, updateTime: undefined };
}

const definitions = wire.WorkspaceServiceService;

/** The methods of the service, with strict decoding. */
export const workspaceService = {
  putWorkspace: method(definitions.putWorkspace, wire.PutWorkspaceRequest, wire.PutWorkspaceResponse),
  getWorkspace: method(definitions.getWorkspace, wire.GetWorkspaceRequest, wire.GetWorkspaceResponse),
  listWorkspaces: method(definitions.listWorkspaces, wire.ListWorkspacesRequest, wire.ListWorkspacesResponse),
  deleteWorkspace: method(
    definitions.deleteWorkspace,
    wire.DeleteWorkspaceRequest,
    wire.DeleteWorkspaceResponse,
  ),
  putDocuments: method(definitions.putDocuments, wire.PutDocumentsRequest, wire.PutDocumentsResponse),
  getDocument: method(definitions.getDocument, wire.GetDocumentRequest, wire.GetDocumentResponse),
  putCapabilities: method(
    definitions.putCapabilities,
    wire.PutCapabilitiesRequest,
    wire.PutCapabilitiesResponse,
  ),
  getCapabilities: method(
    definitions.getCapabilities,
    wire.GetCapabilitiesRequest,
    wire.GetCapabilitiesResponse,
  ),
  putToolset: method(definitions.putToolset, wire.PutToolsetRequest, wire.PutToolsetResponse),
  getToolset: method(definitions.getToolset, wire.GetToolsetRequest, wire.GetToolsetResponse),
  deleteToolset: method(definitions.deleteToolset, wire.DeleteToolsetRequest, wire.DeleteToolsetResponse),
};
