import type { CapsuleBody } from "../../src/contract/gen/quire/v1/capsule.js";
import type { DeepPartial } from "../../src/contract/gen/quire/v1/message.js";
import { CapabilityState, LoopRule, ToolKind } from "../../src/contract/gen/quire/v1/workspace.js";
import type { Quire } from "../../src/index.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";

/** A workspace with something of everything, a session with three turns, and capsules to look at them with. */

const documents = [
  { path: "AGENTS.md", content: "# Rules\n\n- Answer in full sentences.\n- Never promise a refund." },
  { path: "user/IDENTITY.md", content: "Mia Li, platinum member." },
  { path: "SOUL.md", content: "Patient and exact." },
  { path: "IDENTITY.md", content: "Atlas, of the travel desk." },
];

const capabilities = [
  { name: "flights", category: "travel", state: CapabilityState.ACTIVE, hint: "search before booking" },
  { name: "hotels", category: "travel", state: CapabilityState.READY },
  { name: "slack", category: "messaging", state: CapabilityState.NEEDS_SETUP, reason: "no token" },
  { name: "payments", category: "money", state: CapabilityState.BROKEN, reason: "certificate expired" },
];

const tools = [
  {
    name: "search",
    description: "Looks for flights.",
    inputSchemaJson: '{"type":"object"}',
    kind: ToolKind.OTHER,
    capability: "flights",
  },
  {
    name: "book",
    description: "Books a flight.",
    kind: ToolKind.OTHER,
    capability: "flights",
    requiredPermissions: ["booking.write"],
    dangerous: true,
  },
  { name: "rooms", description: "Looks for rooms.", kind: ToolKind.OTHER, capability: "hotels" },
  { name: "pay", description: "Takes money.", kind: ToolKind.OTHER, capability: "payments" },
  { name: "send", description: "Sends a message.", kind: ToolKind.MESSAGING, capability: "slack" },
  { name: "reply", description: "Reports to the manager.", kind: ToolKind.REPLY },
  { name: "spawn", description: "Starts a worker.", kind: ToolKind.SPAWN },
];

const rules = [
  { tool: "book", rule: { $case: "requiresPrior" as const, value: "search" } },
  { tool: "search", rule: { $case: "loop" as const, value: LoopRule.START } },
  { tool: "send", rule: { $case: "loop" as const, value: LoopRule.EXIT } },
  { tool: "search", rule: { $case: "loop" as const, value: LoopRule.CONTINUE } },
  { tool: "pay", rule: { $case: "maxCalls" as const, value: 1 } },
  { tool: "rooms", rule: { $case: "maxCalls" as const, value: 3 } },
];

export async function setUpTravelDesk(quire: Quire): Promise<void> {
  await quire.workspaces.putWorkspace({
    name: "desk",
    path: "/srv/desk",
    runtime: { host: "desk-1", os: "linux", arch: "x64" },
  });
  await quire.workspaces.putDocuments({ workspace: "desk", documents });
  await quire.workspaces.putCapabilities({
    workspace: "desk",
    snapshot: { capabilities, credentialsConfigured: 2, credentialsBroken: ["stripe"] },
  });
  await quire.workspaces.putToolset({ workspace: "desk", toolset: { name: "travel", tools, rules } });
  await quire.ledger.createSession({ label: "desk" });
  let parentTurnId = "";
  const turns = [
    [
      user("I want to fly to Seattle."),
      toolCalls("call-1"),
      toolResults("call-1"),
      assistant("There are two flights."),
    ],
    [user("The morning one."), assistant("It leaves at eight.")],
    [
      user("And a room?"),
      toolCalls("call-2", "call-3"),
      toolResults("call-2", "call-3"),
      assistant("The Grand has one."),
    ],
  ];
  for (const messages of turns) {
    const { turn } = await quire.ledger.recordTurn({ session: "desk", parentTurnId, messages });
    parentTurnId = turn!.id;
  }
}

export async function putCapsule(
  quire: Quire,
  name: string,
  more: DeepPartial<CapsuleBody> = {},
  intelligenceLevel = 5,
): Promise<void> {
  const persona = {
    corePrompt: "You are Atlas. You help people travel.",
    injectionPrompts: [
      { trigger: "start", content: "Greet people by their name." },
      { trigger: "delay", content: "A flight is late: say so first." },
    ],
    knobs: { intelligenceLevel, autonomyLevel: 4 },
    model: { model: "gpt-4o", provider: "openai" },
  };
  await quire.capsules.putCapsule({
    name,
    body: {
      governance: { deniedCapabilities: ["payments"] },
      ...more,
      persona: { ...persona, ...more.persona },
    },
  });
}

/** A request about all of it. */
export const deskRequest = {
  session: "desk",
  workspace: "desk",
  toolset: "travel",
  permissionsGranted: ["booking.read"],
  event: {
    id: "event-7",
    content: [{ content: { $case: "text" as const, value: { text: "Book both, please." } } }],
    timezone: "Europe/Vienna",
    platform: "slack",
    actions: ["reply", "react"],
    hooks: [{ name: "weather", content: "It rains in Seattle." }],
    attachments: [{ path: "ticket.pdf", firstLine: 3, lastLine: 9 }],
    triggers: ["delay"],
    activity: ["Mia opened the app", "Mia looked at flights"],
  },
};
