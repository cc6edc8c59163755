import * as ledger from "../../../src/contract/gen/quire/v1/ledger_service.js";
import {
  ListWorkspacesRequest,
  PutWorkspaceRequest,
  WorkspaceServiceService,
} from "../../../src/contract/gen/quire/v1/workspace_service.js";
import type { Attack } from "../attack.js";
import { someAtOnce, userTurn } from "../target.js";

const pageSize = 1_000;
const rounds = 12;
const { LedgerServiceService: methods } = ledger;

/** Lists at their largest page, over more than a page. */
export const largestPages: Attack = {
  async prepare(target) {
    const { caller } = target;
    const labels = await target.sessions(1_200);
    const branch = userTurn(labels[0]!, "A turn.", ledger.OnHeadMoved.BRANCH);
    await someAtOnce(labels, 16, () => target.record(branch));
    await someAtOnce(labels, 16, (name) =>
      caller.must(WorkspaceServiceService.putWorkspace, PutWorkspaceRequest.fromPartial({ name })),
    );
    type Page = { readonly nextPageToken: string } | undefined;
    const walk = async (page: (pageToken: string) => Promise<Page>) => {
      for (let at: string | undefined = ""; at !== undefined; )
        at = (await page(at))?.nextPageToken || undefined;
    };
    const walks = [
      (pageToken: string) =>
        caller.call(methods.listSessions, ledger.ListSessionsRequest.create({ pageSize, pageToken })),
      (pageToken: string) =>
        caller.call(
          methods.listTurns,
          ledger.ListTurnsRequest.create({
            session: labels[0]!,
            scope: ledger.TurnScope.WRITTEN,
            pageSize,
            pageToken,
          }),
        ),
      (pageToken: string) =>
        caller.call(
          WorkspaceServiceService.listWorkspaces,
          ListWorkspacesRequest.create({ pageSize, pageToken }),
        ),
    ];
    const all = Array.from({ length: rounds }, () => walks).flat();
    return (signal) => someAtOnce(all, 6, walk, signal);
  },
};
