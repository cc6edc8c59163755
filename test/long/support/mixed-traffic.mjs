/**
 * An engine in a process of its own, from the build, under mixed traffic: sessions are made, forked and deleted, turns recorded, contexts
 * assembled with tools, compactions and changes of the system prompt. Prints what the process holds after each part of it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Caches } from "../../../dist/src/domain/caches.js";
import { createQuire } from "../../../dist/src/index.js";

const { database, assemblies, checkpoints, seed, share } = JSON.parse(process.argv[2]);
const caches = new Caches(share);
const quire = await createQuire({ database, primeFile: "", logLevel: "silent" }, { caches });
const lanes = 8;
const models = ["gpt-4o", "claude-haiku-4-5"];

/** Numbers that are the same for the same seed (mulberry32). */
function randomFrom(start) {
  let state = start;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const text = (value) => ({ content: { $case: "text", value: { text: value } } });
const words = (random, most) => `word${random(1_000)} `.repeat(1 + random(most));

class Lane {
  constructor(lane) {
    this.random = randomFrom(seed + lane);
    this.name = `lane-${lane}`;
    this.sessions = [];
    this.made = 0;
  }

  async open() {
    const persona = { corePrompt: "You are Atlas.", knobs: { intelligenceLevel: 9 } };
    await quire.capsules.putCapsule({ name: this.name, body: { persona } });
    await quire.workspaces.putWorkspace({ name: this.name, path: "/srv" });
    await this.edit();
  }

  async edit() {
    const documents = [{ path: "AGENTS.md", content: `# Rules\n\n${words(this.random, 120)}` }];
    await quire.workspaces.putDocuments({ workspace: this.name, documents });
  }

  async createSession() {
    const label = `${this.name}-${this.made++}`;
    await quire.ledger.createSession({ label });
    this.sessions.push({ label, head: "" });
  }

  async forkSession({ head }) {
    if (head === "") return;
    const label = `${this.name}-${this.made++}`;
    await quire.ledger.forkSession({ at: { $case: "turnId", value: head }, label });
    this.sessions.push({ label, head });
  }

  /** One context, and as a rule the turn that answers it. */
  async step() {
    const { random, sessions } = this;
    if (sessions.length < 4) await this.createSession();
    if (random(40) === 0) await this.edit();
    const at = random(sessions.length);
    const session = sessions[at];
    if (random(30) === 0) await this.forkSession(session);
    const model = models[random(models.length)];
    const isNew = random(4) === 0;
    const tools = Array.from({ length: 1 + random(8) }, (_, tool) => ({
      name: isNew ? `tool_${this.made}_${random(1e9)}_${tool}` : `tool_${tool}`,
      description: "Looks for flights.",
      inputSchemaJson: '{"type":"object","properties":{"city":{"type":"string"}}}',
    }));
    const content = words(random, 60);
    const { context } = await quire.assembly.buildContext({
      context: {
        session: session.label,
        capsule: this.name,
        workspace: this.name,
        model,
        tools,
        event: { content: [text(content)] },
        settings: {
          modelLimits: [{ model, maxTokens: 6_000 }],
          reserveResponseTokens: 500,
          reserveToolTokens: 100,
        },
      },
    });
    if (random(10) > 0) {
      const recorded = await quire.ledger.recordTurn({
        session: session.label,
        parentTurnId: session.head,
        assemblyId: random(10) > 0 ? context.assemblyId : "",
        messages: [
          { role: "MESSAGE_ROLE_USER", parts: [text(content)] },
          { role: "MESSAGE_ROLE_ASSISTANT", parts: [text(words(random, 60))] },
        ],
        result: { usage: { inputTokens: 2_000 + random(500), outputTokens: 100 } },
      });
      session.head = recorded.headTurnId;
    }
    if (random(25) === 0 || sessions.length > 12) {
      sessions.splice(at, 1);
      await quire.ledger.deleteSession({ session: session.label });
    }
  }
}

const all = Array.from({ length: lanes }, (_, lane) => new Lane(lane));
for (const lane of all) await lane.open();
for (let point = 1; point <= checkpoints; point++) {
  const steps = assemblies / checkpoints / lanes;
  await Promise.all(
    all.map(async (lane) => {
      for (let step = 0; step < steps; step++) await lane.step();
    }),
  );
  // What is written behind is written.
  await sleep(3_000);
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external, rss } = process.memoryUsage();
  const kept = Object.fromEntries(caches.uses.map(({ name, bytes, maxBytes }) => [name, bytes / maxBytes]));
  console.log(JSON.stringify({ assemblies: point * steps * lanes, held: heapUsed + external, rss, kept }));
}
await quire.close();
