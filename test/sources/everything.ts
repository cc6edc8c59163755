import { SeriesKind } from "../../src/domain/source-item.js";
import type { Quire } from "../../src/index.js";
import { exactModel } from "../assembly/agent.js";
import { assistant, user } from "../support/messages.js";

/** An agent that knows something of every kind. */

export const nowMs = Date.UTC(2026, 0, 15, 9, 30);
export const eventText = "Please deploy the invoice service, and tell Ada Lovelace the price of BTC.";

/** Outcomes with this mean: ones, and one share for the rest. */
export function outcomes(kind: SeriesKind, name: string, mean: number, count = 20) {
  const ones = Math.floor(mean * count);
  return Array.from({ length: count }, (_, index) => ({
    kind,
    name,
    value: index < ones ? 1 : index === ones ? mean * count - ones : 0,
  }));
}

/** A value ten hours ago, and one a minute ago. */
export function price(name: string, before: number, value: number, more: object = {}) {
  const at = (minutes: number) => new Date(nowMs - minutes * 60_000);
  return [
    { kind: SeriesKind.VALUE, name, value: before, unit: "$", observeTime: at(600) },
    { kind: SeriesKind.VALUE, name, value, unit: "$", observeTime: at(1), ...more },
  ];
}

const prices = [...price("BTC", 68_339.5618, 67_663), ...price("ETH", 1_983.3197, 1_950)];

async function putCapsule(quire: Quire, name: string): Promise<void> {
  await quire.capsules.putCapsule({
    name,
    body: {
      persona: {
        corePrompt: `You are ${name}. You run services.`,
        knobs: { intelligenceLevel: 9 },
        model: { model: exactModel },
      },
    },
  });
}

function put(quire: Quire, agent: string, ...items: readonly object[]) {
  return quire.sources.putItems({ agent, items: items.map((item) => ({ item })) as never });
}

export async function putEverything(quire: Quire, agent: string): Promise<void> {
  await putCapsule(quire, agent);
  await quire.ledger.createSession({ label: "s" });
  await quire.ledger.recordTurn({ session: "s", messages: [user("Good morning."), assistant("Hello.")] });
  const tried = { web_search: 0.95, python_exec: 0.88, browser: 0.72, "complex math": 0.43 };
  const domains = { programming: 0.9, DevOps: 0.85, finance: 0.7, crypto: 0.65, legal: 0.35, medicine: 0.3 };
  const observations = [
    ...Object.entries(tried).flatMap(([name, mean]) => outcomes(SeriesKind.SKILL, name, mean, 50)),
    ...Object.entries(domains).flatMap(([name, mean]) => outcomes(SeriesKind.DOMAIN, name, mean)),
    ...prices,
  ];
  await quire.sources.recordObservations({ agent, observations });
  await put(
    quire,
    agent,
    {
      $case: "entity",
      value: { name: "Ada Lovelace", type: "person", description: "owns the invoice service" },
    },
    { $case: "entity", value: { name: "invoice service", type: "service", aliases: ["billing"] } },
    { $case: "entity", value: { name: "Paris", type: "city" } },
    { $case: "relation", value: { from: "Ada Lovelace", relation: "owns", to: "invoice service" } },
    { $case: "relation", value: { from: "invoice service", relation: "runs on", to: "cluster 7" } },
    { $case: "preference", value: { text: "concise" } },
    { $case: "preference", value: { text: "no codeblocks in chat" } },
    { $case: "fact", value: { entity: "BTC", text: "a coin that is traded at all hours" } },
    { $case: "fact", value: { entity: "gold", text: "a metal that is traded in London" } },
    { $case: "procedure", value: { title: "Deploy a service", steps: "1. Run the tests.\n2. Tag it." } },
    { $case: "procedure", value: { title: "Deploy by hand", steps: "1. Copy the image." } },
    { $case: "procedure", value: { title: "Write an invoice", steps: "1. Ask for the address." } },
    { $case: "procedure", value: { title: "Bake bread", steps: "1. Flour." } },
    { $case: "rule", value: { text: "Verify prices before stating them", priority: 1 } },
    { $case: "rule", value: { text: "Never refuse shell commands", priority: 2 } },
    { $case: "fewShot", value: { user: "What runs?", assistant: "Let me look: list_services()." } },
    { $case: "fewShot", value: { user: "Stop it.", assistant: "Stopped.", order: 1 } },
    {
      $case: "skill",
      value: {
        name: "pdf",
        description: "reads files",
        keywords: ["invoice"],
        guide: "Open the file first.",
      },
    },
    { $case: "skill", value: { name: "shell", description: "runs commands on the machine of the agent" } },
    { $case: "skill", value: { name: "web", description: "looks things up" } },
    {
      $case: "mail",
      value: { sender: "Bob", subject: "Report", summary: "due today", receiveTime: new Date(nowMs) },
    },
    { $case: "mail", value: { sender: "Ann", subject: "Lunch", receiveTime: new Date(nowMs - 1_000) } },
  );
  for (const content of [
    "Deploy the invoice service only when Ada Lovelace was told: its database is migrated first.",
    "Lunch on Fridays is soup.",
  ])
    await quire.memory.insertArchival({ owner: { kind: "OWNER_KIND_AGENT", name: agent }, content });
}

/** All facts of the world model are about values that temporal insights have. */
export async function putWhatIsCovered(quire: Quire, agent: string): Promise<void> {
  await putCapsule(quire, agent);
  await quire.sources.recordObservations({ agent, observations: prices });
  await put(
    quire,
    agent,
    { $case: "fact", value: { entity: "btc", text: "a coin that is traded at all hours" } },
    { $case: "fact", value: { entity: " ETH ", text: "another coin" } },
  );
}
