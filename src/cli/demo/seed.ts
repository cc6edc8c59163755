import { arch, hostname, platform } from "node:os";
import type { Message } from "../../contract/gen/quire/v1/message.js";
import type { Turn } from "../../contract/gen/quire/v1/turn.js";
import type { QuireClient } from "../client/quire-client.js";
import { capsuleBody, documents, earlierTurns, snapshot, toolset } from "./agent.js";

export async function putCapsule({ capsules }: QuireClient, name: string) {
  return (await capsules.putCapsule({ name, body: capsuleBody })).capsule!;
}

export async function putWorkspace({ workspaces }: QuireClient, workspace: string) {
  const runtime = { host: hostname(), os: platform(), arch: arch() };
  await workspaces.putWorkspace({ name: workspace, runtime });
  const written = await workspaces.putDocuments({ workspace, documents });
  await workspaces.putCapabilities({ workspace, snapshot });
  await workspaces.putToolset({ workspace, toolset });
  return written.documents;
}

/** A session with the turns that came before. Gives the turns. */
export async function recordEarlierTurns(client: QuireClient, label: string): Promise<readonly Turn[]> {
  await client.ledger.createSession({ label });
  const turns: Turn[] = [];
  for (const messages of earlierTurns) {
    turns.push(await recordTurn(client, label, turns.at(-1)?.id ?? "", messages));
  }
  return turns;
}

/** Writes a turn: its first message came in, the others are what the engine returned. */
export async function recordTurn(
  { ledger }: QuireClient,
  session: string,
  parentTurnId: string,
  [incoming, ...produced]: readonly [Message, ...(readonly Message[])],
  assemblyId = "",
): Promise<Turn> {
  const { turn } = await ledger.recordTurn({
    session,
    parentTurnId,
    assemblyId,
    details: { model: "gpt-4o", provider: "openai" },
    messages: [incoming],
    result: { messages: produced, stopReason: "stop" },
  });
  return turn!;
}
