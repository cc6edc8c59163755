import type { Turn } from "../../contract/gen/quire/v1/turn.js";
import type { Thread } from "../../transcripts/export/exporter.js";
import { CliError } from "../cli-error.js";
import type { Ledger } from "../client/quire-client.js";

/** The thread of a session as it is now; moves of the head while it is read make no difference. */
export async function openThread(ledger: Ledger, name: string): Promise<Thread> {
  const { session } = await ledger.getSession({ session: name });
  if (!session) throw new CliError(`the server gave no session for "${name}"`);
  let turns: Promise<ReadonlyMap<string, Turn>> | undefined;
  return {
    session,
    async *messages() {
      if (session.headTurnId === "") return;
      const thread = { $case: "turnId", value: session.headTurnId } as const;
      const request = { thread, view: "HISTORY_VIEW_FULL", afterTurnId: "", lastTurns: 0 } as const;
      for await (const batch of ledger.streamHistory(request)) yield* batch.messages;
    },
    async turn(id) {
      turns ??= listTurns(ledger, session.id);
      const listed = (await turns).get(id);
      // A list names only some of many model calls.
      const isWhole = listed && listed.modelCalls.length === listed.modelCallCount;
      const turn = isWhole ? listed : await readTurn(ledger, id);
      if (!turn) throw new CliError(`the server gave no turn for ${id}`);
      return turn;
    },
  };
}

async function readTurn(ledger: Ledger, turnId: string): Promise<Turn | undefined> {
  const { found } = await ledger.getTurn({ turnId });
  return found?.$case === "recorded" ? found.value.turn : undefined;
}

async function listTurns(ledger: Ledger, session: string): Promise<ReadonlyMap<string, Turn>> {
  const turns = new Map<string, Turn>();
  let pageToken = "";
  do {
    const page = await ledger.listTurns({
      session,
      scope: "TURN_SCOPE_THREAD",
      statuses: [],
      pageSize: 1000,
      pageToken,
    });
    for (const turn of page.turns) turns.set(turn.id, turn);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return turns;
}
