import type * as wire from "../../contract/gen/quire/v1/workspace_service.js";
import { checked } from "./engine/message-check.js";

export const validatePutWorkspace = checked<wire.PutWorkspaceRequest>("PutWorkspaceRequest");
export const validateGetWorkspace = checked<wire.GetWorkspaceRequest>("GetWorkspaceRequest");
export const validateListWorkspaces = checked<wire.ListWorkspacesRequest>("ListWorkspacesRequest");
export const validateDeleteWorkspace = checked<wire.DeleteWorkspaceRequest>("DeleteWorkspaceRequest");
export const validatePutDocuments = checked<wire.PutDocumentsRequest>("PutDocumentsRequest");
export const validateGetDocument = checked<wire.GetDocumentRequest>("GetDocumentRequest");
export const validatePutCapabilities = checked<wire.PutCapabilitiesRequest>("PutCapabilitiesRequest");
export const validateGetCapabilities = checked<wire.GetCapabilitiesRequest>("GetCapabilitiesRequest");
export const validatePutToolset = checked<wire.PutToolsetRequest>("PutToolsetRequest");
export const validateGetToolset = checked<wire.GetToolsetRequest>("GetToolsetRequest");
export const validateDeleteToolset = checked<wire.DeleteToolsetRequest>("DeleteToolsetRequest");
