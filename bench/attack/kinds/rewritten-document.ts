import { AssemblyServiceService } from "../../../src/contract/gen/quire/v1/assembly_service.js";
import {
  PutDocumentsRequest,
  PutWorkspaceRequest,
  WorkspaceServiceService,
} from "../../../src/contract/gen/quire/v1/workspace_service.js";
import type { Attack } from "../attack.js";
import { contextOf, type Target, userTurn } from "../target.js";

const lines = 16_000;
const model = "claude-fable-5-1";

function putDocument(target: Target, edition: string) {
  const line = (_: unknown, at: number) => `- Rule ${at} of edition ${edition}: answer in full sentences.`;
  const content = Array.from({ length: lines }, line).join("\n");
  const documents = [{ path: "AGENTS.md", content }];
  return target.caller.must(
    WorkspaceServiceService.putDocuments,
    PutDocumentsRequest.fromPartial({ workspace: "desk", documents }),
  );
}

/** Every line of a document changes under a prompt cache that is warm, so that the change is told as a difference. */
export const rewrittenDocument: Attack = {
  async prepare(target) {
    await target.putAgent(model);
    const [session] = await target.sessions(1);
    const put = PutWorkspaceRequest.fromPartial({ name: "desk", path: "/desk" });
    await target.caller.must(WorkspaceServiceService.putWorkspace, put);
    await putDocument(target, "one");
    const context = contextOf(session!, { model, workspace: "desk" });
    const assemblyId = await target.build(context);
    await target.record({ ...userTurn(session!, "Hello."), assemblyId });
    await putDocument(target, "two");
    return () =>
      Promise.all([1, 2].map(() => target.caller.call(AssemblyServiceService.buildContext, context)));
  },
};
