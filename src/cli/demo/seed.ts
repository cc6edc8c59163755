import { arch, hostname, platform } from "node:os";
import { CreateSessionRequest, RecordTurnRequest } from "../../contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../contract/gen/quire/v1/message.js";
import type { Turn } from "../../contract/gen/quire/v1/turn.js";
import type { Assemblies } from "../client/assemblies.js";
import type { Capsules } from "../client/capsules.js";
import type { Ledger } from "../client/ledger.js";
import type { Workspaces } from "../workspace/workspaces.js";
import { capsuleBody, documents, earlierTurns, snapshot, toolset } from "./agent.js";

/** The services that the demo calls, as any client would. */
export interface Services {
  readonly ledger: Ledger;
  readonly capsules: Capsules;
  readonly workspaces: Workspaces;
  readonly assemblies: Assemblies;
}

export function putCapsule({ capsules }: Services, name: string) {
  return capsules.put({ requestId: "", name, body: capsuleBody });
}

export async function putWorkspace({ workspaces }: Services, name: string) {
  const runtime = { host: hostname(), os: platform(), arch: arch() };
  const own = { requestId: "", workspace: name };
  await workspaces.put({ requestId: "", name, path: "", runtime });
  const written = await workspaces.putDocuments({ ...own, documents: [...documents], removePaths: [] });
  await workspaces.putCapabilities({ ...own, snapshot });
  await workspaces.putToolset({ ...own, toolset });
  return written.documents;
}

/** A session with the turns that came before. Gives the turns. */
export async function recordEarlierTurns(services: Services, label: string): Promise<readonly Turn[]> {
  await services.ledger.createSession(CreateSessionRequest.fromPartial({ label }));
  const turns: Turn[] = [];
  for (const messages of earlierTurns) {
    turns.push(await recordTurn(services, label, turns.at(-1)?.id ?? "", messages));
  }
  return turns;
}

/** Writes a turn: its first message came in, the others are what the engine returned. */
export async function recordTurn(
  { ledger }: Services,
  session: string,
  parentTurnId: string,
  [incoming, ...produced]: readonly [Message, ...(readonly Message[])],
  assemblyId = "",
): Promise<Turn> {
  const { turn } = await ledger.recordTurn(
    RecordTurnRequest.fromPartial({
      session,
      parentTurnId,
      assemblyId,
      details: { model: "gpt-4o", provider: "openai" },
      messages: [incoming],
      result: { messages: produced, stopReason: "stop" },
    }),
  );
  return turn!;
}
