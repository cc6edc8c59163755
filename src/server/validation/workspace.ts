import type {
  CapabilitySnapshot,
  Document,
  RuntimeFacts,
  Tool,
  ToolRule,
} from "../../contract/gen/quire/v1/workspace.js";
import type * as wire from "../../contract/gen/quire/v1/workspace_service.js";
import { documentPathProblem } from "../../domain/document-path.js";
import { type Checker, checked, checkPage, checkRequestId } from "./checker.js";

/** The bounds that the contract states for workspaces and all that is in them. */

const name = { min: 1, max: 256 };
const documentPath = { min: 1, max: 1_024 };
const content = (max: number) => ({ max, unit: "bytes", content: true }) as const;
const note = { max: 1_024, content: true };
const states = [
  "CAPABILITY_STATE_ACTIVE",
  "CAPABILITY_STATE_READY",
  "CAPABILITY_STATE_NEEDS_SETUP",
  "CAPABILITY_STATE_BROKEN",
];

export const validatePutWorkspace = checked<wire.PutWorkspaceRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("name", request.name, name);
  checker.text("path", request.path, { max: 4_096 });
  checkRuntime(checker, "runtime", request.runtime);
});

export const validateGetWorkspace = checked<wire.GetWorkspaceRequest>((checker, request) => {
  checker.text("name", request.name, name);
});

export const validateListWorkspaces = checked<wire.ListWorkspacesRequest>((checker, request) => {
  checkPage(checker, request);
});

export const validateDeleteWorkspace = checked<wire.DeleteWorkspaceRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("name", request.name, name);
});

export const validatePutDocuments = checked<wire.PutDocumentsRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("workspace", request.workspace, name);
  const paths = new Set<string>();
  checkEach(checker, "documents", request.documents, 1_024, (field, document) => {
    checkDocument(checker, field, document);
    checkOnce(checker, `${field}.path`, document.path, paths);
  });
  checkEach(checker, "remove_paths", request.removePaths, 1_024, (field, path) => {
    checker.text(field, path, documentPath);
    if (paths.has(path)) checker.wrong(field, "is among the documents to write, too");
  });
});

export const validateGetDocument = checked<wire.GetDocumentRequest>((checker, request) => {
  checker.text("workspace", request.workspace, name);
  checker.text("path", request.path, documentPath);
});

export const validatePutCapabilities = checked<wire.PutCapabilitiesRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("workspace", request.workspace, name);
  if (request.snapshot) checkSnapshot(checker, "snapshot", request.snapshot);
  else checker.wrong("snapshot", "is required");
});

export const validateGetCapabilities = checked<wire.GetCapabilitiesRequest>((checker, request) => {
  checker.text("workspace", request.workspace, name);
});

export const validatePutToolset = checked<wire.PutToolsetRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("workspace", request.workspace, name);
  const { toolset } = request;
  if (!toolset) return checker.wrong("toolset", "is required");
  checker.text("toolset.name", toolset.name, name);
  checkTools(checker, "toolset.tools", toolset.tools);
  checkToolRules(checker, "toolset.rules", toolset.rules);
});

export const validateGetToolset = checked<wire.GetToolsetRequest>((checker, request) => {
  checker.text("workspace", request.workspace, name);
  checker.text("name", request.name, name);
});

export const validateDeleteToolset = checked<wire.DeleteToolsetRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("workspace", request.workspace, name);
  checker.text("name", request.name, name);
});

export function checkRuntime(checker: Checker, field: string, runtime: RuntimeFacts | undefined): void {
  if (!runtime) return;
  checker.text(`${field}.host`, runtime.host, { max: 256 });
  checker.text(`${field}.os`, runtime.os, { max: 128 });
  checker.text(`${field}.arch`, runtime.arch, { max: 64 });
}

/** Bounds of tools; each name once. */
export function checkTools(checker: Checker, field: string, tools: readonly Tool[]): void {
  const names = new Set<string>();
  checkEach(checker, field, tools, 1_024, (at, tool) => {
    checker.text(`${at}.name`, tool.name, name);
    checkOnce(checker, `${at}.name`, tool.name, names);
    checker.text(`${at}.description`, tool.description, content(65_536));
    checker.json(`${at}.input_schema_json`, tool.inputSchemaJson, 262_144, { isObject: true });
    checker.known(`${at}.kind`, tool.kind);
    checker.text(`${at}.capability`, tool.capability, { max: 256 });
    checker.names(`${at}.required_permissions`, tool.requiredPermissions);
  });
}

export function checkToolRules(checker: Checker, field: string, rules: readonly ToolRule[]): void {
  checkEach(checker, field, rules, 1_024, (at, { tool, rule }) => {
    checker.text(`${at}.tool`, tool, name);
    if (!rule) checker.wrong(at, "holds no rule: exactly one must be set");
    else if (rule.$case === "maxCalls") checker.number(`${at}.max_calls`, rule.value, 1, 1_000_000);
    else if (rule.$case === "requiresPrior") checker.text(`${at}.requires_prior`, rule.value, name);
    else checker.oneOf(`${at}.loop`, rule.value, loopRules);
  });
}

const loopRules = ["LOOP_RULE_EXIT", "LOOP_RULE_CONTINUE", "LOOP_RULE_START"];

function checkDocument(checker: Checker, field: string, document: Document): void {
  checker.text(`${field}.path`, document.path, { ...documentPath, content: true });
  const problem = document.path === "" ? undefined : documentPathProblem(document.path);
  if (problem) checker.wrong(`${field}.path`, problem);
  checker.known(`${field}.kind`, document.kind);
  checker.text(`${field}.content`, document.content, content(1_048_576));
}

function checkSnapshot(checker: Checker, field: string, snapshot: CapabilitySnapshot): void {
  const names = new Set<string>();
  checkEach(checker, `${field}.capabilities`, snapshot.capabilities, 4_096, (at, capability) => {
    checker.text(`${at}.name`, capability.name, name);
    checkOnce(checker, `${at}.name`, capability.name, names);
    checker.text(`${at}.category`, capability.category, { min: 1, max: 128 });
    checker.oneOf(`${at}.state`, capability.state, states);
    checker.text(`${at}.reason`, capability.reason, note);
    checker.text(`${at}.hint`, capability.hint, note);
  });
  checkEach(checker, `${field}.credentials_broken`, snapshot.credentialsBroken, 1_024, (at, credential) => {
    checker.text(at, credential, name);
  });
}

function checkOnce(checker: Checker, field: string, value: string, seen: Set<string>): void {
  if (seen.has(value)) checker.wrong(field, "is there twice");
  seen.add(value);
}

/** Checks how many there are, and each of them as long as that may tell more. */
function checkEach<T>(
  checker: Checker,
  field: string,
  items: readonly T[],
  max: number,
  check: (field: string, item: T) => void,
): void {
  checker.count(field, items, 0, max);
  for (let index = 0; index < Math.min(items.length, max) && !checker.isFull; index++) {
    check(`${field}[${index}]`, items[index]!);
  }
}
