import type {
  CapabilitySnapshot,
  Document,
  Tool,
  Toolset,
} from "../../../contract/gen/quire/v1/workspace.js";
import type { PutDocumentsRequest } from "../../../contract/gen/quire/v1/workspace_service.js";
import { documentPathProblem } from "../../../domain/document-path.js";
import type { Checker } from "../checker.js";
import { checkJson } from "./json-check.js";
import { checkOnce } from "./once.js";

export const workspaceChecks = {
  // One field against another.
  PutDocumentsRequest: (checker: Checker, { documents, removePaths }: PutDocumentsRequest) => {
    checkOnce(checker, "documents", documents, "path", ({ path }) => path);
    const written = new Set(documents.map(({ path }) => path));
    for (let index = 0; index < removePaths.length && !checker.isFull; index++) {
      if (written.has(removePaths[index]!))
        checker.wrong(`remove_paths[${index}]`, "is among the documents to write, too");
    }
  },
  // A pattern for it could not say what is wrong with a path.
  Document: (checker: Checker, { path }: Document) => {
    const problem = path === "" ? undefined : documentPathProblem(path);
    if (problem) checker.wrong("path", problem);
  },
  // Rules do not look into JSON.
  Tool: (checker: Checker, tool: Tool) =>
    checkJson(checker, "input_schema_json", tool.inputSchemaJson, { isObject: true }),
  // Names once.
  Toolset: (checker: Checker, { tools }: Toolset) =>
    checkOnce(checker, "tools", tools, "name", ({ name }) => name),
  CapabilitySnapshot: (checker: Checker, { capabilities }: CapabilitySnapshot) =>
    checkOnce(checker, "capabilities", capabilities, "name", ({ name }) => name),
};
