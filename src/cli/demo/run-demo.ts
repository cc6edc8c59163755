import type { Turn } from "../../contract/gen/quire/v1/turn.js";
import { printComparison } from "../assemble/comparison-text.js";
import { contextRequest } from "../assemble/context-request.js";
import { createLines, type Lines, number } from "../assemble/lines.js";
import { candidateTable } from "../assemble/receipt-text.js";
import { getReceipt } from "../client/get-receipt.js";
import type { QuireClient } from "../client/quire-client.js";
import { counted } from "../terminal/printable.js";
import type { Terminal } from "../terminal/terminal.js";
import { answer, forkedTurn, nextQuestion, question, snapshot, toolset, user } from "./agent.js";
import { type Assembled, assembleOnce } from "./assemble-once.js";
import { putCapsule, putWorkspace, recordEarlierTurns, recordTurn } from "./seed.js";

/** What the demo left behind. */
export interface DemoResult {
  readonly assemblyId: string;
  readonly fork: string;
}

/** Seeds a small agent and follows it through two turns and a fork. Everything that it makes has one name. */
export async function runDemo(terminal: Terminal, client: QuireClient, name: string): Promise<DemoResult> {
  const lines = createLines(terminal);
  const step = stepper(lines);
  const { assembly } = client;
  // So few that the bars show something.
  const flags = { capsule: name, workspace: name, toolset: toolset.name, maxTokens: 2_000 };

  step("The agent", "A capsule says who it is; each put makes a new version.");
  await showCapsule(lines, client, name);

  step("Where it works", "A workspace holds documents, what can be done there, and toolsets.");
  await showWorkspace(lines, client, name);

  step("What was said", "A session points at the head of a thread of turns.");
  const turns = await recordEarlierTurns(client, name);
  for (const turn of turns) lines.entry(`turn ${turn.depth}`, turnText(turn));

  step(`"${question}"`, "What should the model see now? Layer by layer, within 2,000 tokens.");
  const first = await assembleOnce(terminal, assembly, contextRequest(name, question, flags));

  step("What was left out, and why", "The receipt has every candidate; these did not get in.");
  const { candidates } = await getReceipt(assembly, first.assemblyId);
  const cut = candidates.filter(({ kept }) => !kept);
  lines.plain(candidateTable(lines, cut));

  step("The answer is recorded", "With the assembly's id, so that history is replayed as it was sent.");
  const said = [user(question), ...answer] as const;
  const turn = await recordTurn(client, name, first.parentTurnId, said, first.assemblyId);
  const context = `${number(turn.contextO200kTokens)} of context that was sent with them`;
  lines.entry(`turn ${turn.depth}`, `${turnText(turn)}, and ${context}`);

  step(`"${nextQuestion}"`, "The caller says what it still holds: only what is new is sent.");
  const request = { ...contextRequest(name, nextQuestion, flags), have: first.held };
  const second = await assembleOnce(terminal, assembly, request);

  step("What a prompt cache keeps", "The next context should begin with the one before, byte for byte.");
  await showComparison(lines, client, first, second);

  step("A fork", "Another session at the first turn: turns are shared, nothing is copied.");
  const fork = `${name}-fork`;
  await showFork(lines, client, name, fork, turns[0]!);
  return { assemblyId: second.assemblyId, fork };
}

async function showCapsule(lines: Lines, client: QuireClient, name: string): Promise<void> {
  const { version, body } = await putCapsule(client, name);
  const persona = body!.persona!;
  lines.entry("capsule", `${name}, version ${version}`);
  lines.entry("model", persona.model!.model);
  lines.entry(
    "knobs",
    `intelligence ${persona.knobs!.intelligenceLevel}, autonomy ${persona.knobs!.autonomyLevel}`,
  );
}

async function showWorkspace(lines: Lines, client: QuireClient, name: string): Promise<void> {
  const documents = await putWorkspace(client, name);
  const tokens = documents.reduce((sum, document) => sum + document.o200kTokens, 0);
  lines.entry("documents", `${documents.map(({ path }) => path).join(", ")}: ${counted(tokens, "token")}`);
  lines.entry("can do", snapshot.capabilities.map((capability) => capability.name).join(", "));
  lines.entry("tools", toolset.tools.map((tool) => tool.name).join(", "));
}

function turnText({ messageCount, o200kTokens }: Turn): string {
  return `${counted(messageCount, "message")}, ${counted(o200kTokens, "token")}`;
}

async function showComparison(
  lines: Lines,
  { assembly }: QuireClient,
  first: Assembled,
  second: Assembled,
): Promise<void> {
  const earlier = await getReceipt(assembly, first.assemblyId);
  const later = await getReceipt(assembly, second.assemblyId);
  const comparison = await assembly.compareReceipts({
    firstAssemblyId: first.assemblyId,
    secondAssemblyId: second.assemblyId,
  });
  printComparison(lines, earlier, later, comparison);
}

async function showFork(
  lines: Lines,
  client: QuireClient,
  name: string,
  fork: string,
  { id: turnId }: Turn,
): Promise<void> {
  await client.ledger.forkSession({ at: { $case: "turnId", value: turnId }, label: fork });
  await recordTurn(client, fork, turnId, forkedTurn);
  for (const label of [name, fork]) {
    const { session } = await client.ledger.getSession({ session: label });
    lines.entry("session", `${label}: ${counted(session!.depth, "turn")}`);
    lines.below(`head ${session!.headTurnId}`);
  }
}

function stepper(lines: Lines) {
  let count = 0;
  return (title: string, explanation: string) => {
    count += 1;
    if (count > 1) lines.blank();
    lines.plain(`${lines.paint("cyan", `${count}.`)} ${lines.paint("bold", title)}`);
    lines.note(explanation);
    lines.blank();
  };
}
