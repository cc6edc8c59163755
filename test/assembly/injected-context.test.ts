import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFileRegistry, fromBinary, fromJson, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { InjectedContext } from "../../src/contract/gen/quire/v1/injected_context.js";
import type { DeepPartial, Message } from "../../src/contract/gen/quire/v1/message.js";
import { AgentRole, EventSource } from "../../src/contract/gen/quire/v1/origin.js";
import { sha256 } from "../../src/domain/hash.js";
import type { Quire } from "../../src/index.js";
import { assistant, user } from "../support/messages.js";
import { tempFolder } from "../support/temp-folder.js";
import type { PartialContext } from "./agent.js";
import { fold } from "./fold.js";
import { serveFolder } from "./served-desk.js";
import { rules, warmModel } from "./warm-desk.js";

/** A desk over the wire: rules, a soul, three capabilities, a capsule and a session. */
async function openDesk(): Promise<Quire> {
  const { quire } = await serveFolder(tempFolder());
  await quire.workspaces.putWorkspace({ name: "desk", path: "/srv/desk" });
  await putRules(quire, "one");
  await quire.workspaces.putDocuments({
    workspace: "desk",
    documents: [
      { path: "SOUL.md", content: "Patient and exact." },
      { path: "IDENTITY.md", content: " \n" },
    ],
  });
  const capabilities = ["mail", "chat", "news"].map((name) => ({
    name,
    category: "Work",
    state: "CAPABILITY_STATE_ACTIVE" as const,
  }));
  await quire.workspaces.putCapabilities({ workspace: "desk", snapshot: { capabilities } });
  const persona = {
    corePrompt: "You are Atlas.",
    knobs: { intelligenceLevel: 9 },
    model: { model: warmModel },
    injectionPrompts: [{ trigger: "late", content: "It is late." }],
  };
  await quire.capsules.putCapsule({ name: "atlas", body: { persona } });
  await quire.ledger.createSession({ label: "desk" });
  return quire;
}

async function putRules(quire: Quire, edition: string): Promise<void> {
  const documents = [{ path: "AGENTS.md", content: rules(edition) }];
  await quire.workspaces.putDocuments({ workspace: "desk", documents });
}

const text = (words: string) => ({ content: { $case: "text" as const, value: { text: words } } });

function assemble(quire: Quire, more: PartialContext = {}) {
  const event = { content: [text("And now?")] };
  const context = { session: "desk", capsule: "atlas", workspace: "desk", event, ...more };
  return fold(quire.assembly.assemble({ context }));
}

/** Assembles, records the turn that answers, and reads the first message as it was stored. */
async function answered(quire: Quire, more: PartialContext, said: DeepPartial<Message> = user("And now?")) {
  const sent = await assemble(quire, more);
  const { session } = await quire.ledger.getSession({ session: "desk" });
  const { turn } = await quire.ledger.recordTurn({
    session: "desk",
    parentTurnId: session!.headTurnId,
    messages: [said, assistant("Soon.")],
    assemblyId: sent.resolved.assemblyId,
  });
  const messages: Message[] = [];
  const thread = { $case: "session" as const, value: "desk" };
  for await (const batch of quire.ledger.streamHistory({ thread })) messages.push(...batch.messages);
  const stored = messages.find(({ turnId }) => turnId === turn!.id)!;
  return { sent, stored, injected: stored.injected! };
}

const event = {
  id: "event-7",
  source: EventSource.HUMAN,
  content: [text("And now?")],
  platform: "slack",
  timezone: "Europe/Vienna",
  identity: "kim",
  metadata: { channel: "C1", b: "2" },
  hooks: [
    { name: "weather", content: "It rains." },
    { name: "calendar", content: "Two meetings." },
  ],
  triggers: ["late", "unheard"],
  attachments: [{ path: "ticket.pdf", firstLine: 3, lastLine: 9 }, { path: "all.md" }],
};

test("a message's typed record says what was sent: versions, hashes, snapshot, platform, hooks by name, attachments, time", async () => {
  const quire = await openDesk();
  const { sent, injected } = await answered(quire, { event });
  const { capsule } = await quire.capsules.getCapsule({ name: "atlas" });
  const { snapshot } = await quire.workspaces.getCapabilities({ workspace: "desk" });
  const documents = ["AGENTS.md", "SOUL.md"].map(async (path) => {
    const { document } = await quire.workspaces.getDocument({ workspace: "desk", path });
    return { path, version: document!.version, hash: document!.hash };
  });
  expect(injected.system).toEqual({
    role: AgentRole.UNIFIED,
    persona: { capsule: "atlas", version: 1, hash: capsule!.hash },
    // IDENTITY.md is blank: nothing of it was sent.
    documents: await Promise.all(documents),
    environment: {
      capabilityCount: 3,
      snapshotTime: snapshot!.snapshotTime,
      snapshotHash: snapshot!.hash,
    },
    memory: undefined,
    hash: sha256(Buffer.from(sent.system.text)),
  });
  expect(injected.event).toEqual({
    id: "event-7",
    source: EventSource.HUMAN,
    platform: "slack",
    timezone: "Europe/Vienna",
    hooks: ["weather", "calendar"],
    triggers: ["late"],
    updates: [],
    identity: "kim",
    metadata: { b: "2", channel: "C1" },
  });
  expect(injected.attachments).toEqual([
    { path: "ticket.pdf", firstLine: 3, lastLine: 9 },
    { path: "all.md", firstLine: 0, lastLine: 0 },
  ]);
  const { receipt } = await quire.assembly.getReceipt({ assemblyId: sent.completed.assemblyId });
  expect(injected.injectTime).toEqual(receipt!.createTime);
  expect(receipt!.injectedSystem).toEqual(injected.system);
});

test("context_json is the same in canonical JSON: keys in the contract's order, times in UTC with milliseconds", async () => {
  const quire = await openDesk();
  const { sent, stored, injected } = await answered(quire, { event });
  const files = readFileSync(join(packageRoot, "src", "contract", "gen", "descriptors.binpb"));
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, files));
  const type = registry.getMessage("quire.v1.InjectedContext")!;
  const read = fromJson(type, JSON.parse(stored.contextJson));
  expect(InjectedContext.decode(toBinary(type, read))).toEqual(injected);
  expect(stored.contextJson).toBe(sent.current!.contextJson);
  expect(stored.contextJson).toMatch(/"injectTime":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"\}$/);
  const keys = [...stored.contextJson.matchAll(/"(\w+)":/g)].map(([, key]) => key);
  expect(keys).toEqual([
    ...["system", "role", "persona", "capsule", "version", "hash", "documents"],
    ...["path", "version", "hash", "path", "version", "hash"],
    ...["environment", "capabilityCount", "snapshotTime", "snapshotHash", "hash"],
    ...["event", "id", "source", "platform", "timezone", "hooks", "triggers", "identity", "metadata"],
    ...["b", "channel", "attachments", "path", "firstLine", "lastLine", "path", "injectTime"],
  ]);
});

test("under a stable prefix it names the versions that were sent, not the newest, and the sections that it tells of", async () => {
  const quire = await openDesk();
  await answered(quire, {});
  await putRules(quire, "two");
  const second = await answered(quire, {});
  expect(second.sent.completed.prefix!.pinned).toBe(true);
  const third = await answered(quire, {});
  for (const { injected, sent } of [second, third]) {
    expect(injected.system!.documents[0]).toMatchObject({ path: "AGENTS.md", version: 1 });
    expect(injected.system!.hash).toEqual(sha256(Buffer.from(sent.system.text)));
  }
  expect(second.injected.event!.updates).toEqual(["workspace_rules"]);
  expect(third.injected.event!.updates).toEqual([]);
  const live = await answered(quire, { settings: { prefix: "PREFIX_POLICY_LIVE" } });
  expect(live.injected.system!.documents[0]).toMatchObject({ path: "AGENTS.md", version: 2 });
});

test("of a worker it says what a worker saw: no platform, and the capabilities of its scope", async () => {
  const quire = await openDesk();
  const worker = {
    role: AgentRole.WORKER,
    task: "Find a room.",
    scope: { capabilities: ["mail", "news"], all: false },
  };
  const { injected } = await answered(quire, { ...worker, event });
  expect(injected.system).toMatchObject({ role: AgentRole.WORKER, environment: { capabilityCount: 2 } });
  expect(injected.event).toMatchObject({ platform: "", hooks: ["weather", "calendar"] });
});

test("what was cut away under STRICT_TRUNCATE is not named", async () => {
  const quire = await openDesk();
  const settings = { policy: "BUDGET_POLICY_STRICT_TRUNCATE" as const };
  const hooks = [
    { name: "short", content: "It rains." },
    { name: "long", content: "More and more. ".repeat(400) },
    { name: "lost", content: "Never seen." },
  ];
  const { current } = await assemble(quire, {
    event: { ...event, hooks },
    settings,
    maxContextTokens: 1_700,
  });
  expect(current!.injected!.event!.hooks).toEqual(["short"]);
  expect(current!.injected!.system!.documents.map(({ path }) => path)).not.toContain("SOUL.md");
});

test("what callers give themselves is kept verbatim", async () => {
  const quire = await openDesk();
  const contextJson = '{ "mine" : 1, "a":[ ] }';
  const named = await answered(quire, { event }, { ...user("And now?"), contextJson });
  expect(named.stored.contextJson).toBe(contextJson);
  expect(named.injected.event!.platform).toBe("slack");
  const own = { contextParts: [text("Mine. ")], contextJson };
  const whole = await answered(quire, { event }, { ...user("And now?"), ...own });
  expect(whole.stored).toMatchObject({ ...own, injected: undefined });
});

test("a message that was read can be written again with its record", async () => {
  const quire = await openDesk();
  const { stored } = await answered(quire, { event });
  await quire.ledger.createSession({ label: "copy" });
  await quire.ledger.recordTurn({ session: "copy", messages: [stored] });
  for await (const { messages } of quire.ledger.streamHistory({
    thread: { $case: "session", value: "copy" },
  })) {
    const { contextParts, contextJson, injected } = stored;
    expect(messages).toMatchObject([{ contextParts, contextJson, injected }]);
  }
});
