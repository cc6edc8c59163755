import { describe, expect, test } from "vitest";
import { ContextChangeKind } from "../../src/contract/gen/quire/v1/prompt_cache.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { Random } from "../model/random.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import type { PartialContext } from "./agent.js";
import { checkDifference, checkKnowledge, layersOf } from "./prefix-bytes.js";
import { rules, type SentContext, ttlMs, WarmDesk } from "./warm-desk.js";

const models = ["claude-opus-5-5", "gpt-6-sol"];
const editions = ["one", "two", "three", "four"];

/** What may happen between two turns, and how often. */
const happenings = {
  nothing: 4,
  rules: 4,
  rulesAnew: 0.5,
  soul: 2,
  identity: 2,
  persona: 1.5,
  prime: 0.5,
  mode: 0.5,
  tools: 0.5,
  shortWait: 2,
  longWait: 0.7,
  compaction: 0.5,
  model: 1.5,
  headBack: 0.5,
};

/** How a turn may come out, and how often. */
const outcomes = { plain: 8, loop: 2, long: 1, failed: 1, failedOpen: 1, unnamed: 0.5, ownContext: 0.5 };

/** A turn that names no assembly says nothing of what was sent: with several models nobody can say what the others were told. */
const oneModel = { happenings: { ...happenings, model: 0 }, outcomes };
const severalModels = { happenings, outcomes: { ...outcomes, unnamed: 0 } };

class RandomDesk {
  context: PartialContext = { model: models[0]! };
  readonly sent = new Map<string, SentContext>();
  readonly turns: string[] = [];
  readonly differences = new Map<ContextChangeKind | undefined, number>();

  constructor(
    readonly desk: WarmDesk,
    readonly random: Random,
    readonly weights: typeof oneModel,
  ) {}

  async happen(): Promise<void> {
    const { desk, random } = this;
    const edition = random.pick(editions);
    switch (random.weighted(this.weights.happenings)) {
      case "rules":
        return desk.write({ "AGENTS.md": rules(edition) });
      case "rulesAnew":
        return desk.write({ "AGENTS.md": rules(edition).replaceAll("always", random.pick(editions)) });
      case "soul":
        return random.chance(0.4)
          ? desk.remove("SOUL.md")
          : desk.write({ "SOUL.md": `Patient, ${edition}.` });
      case "identity":
        return random.chance(0.4)
          ? desk.remove("IDENTITY.md")
          : desk.write({ "IDENTITY.md": `Atlas ${edition}.` });
      case "persona":
        return desk.putCapsule(`You are Atlas ${edition}.`);
      case "prime":
        return desk.prime(random.chance(0.5) ? undefined : `Obey ${edition}.`);
      case "mode":
        this.context = {
          ...this.context,
          modeBlocks: random.chance(0.5) ? [] : [{ name: "m", content: edition }],
        };
        return;
      case "tools":
        this.context = {
          ...this.context,
          tools: random.chance(0.5) ? [] : [{ name: "rooms", description: edition }],
        };
        return;
      case "shortWait":
        return desk.wait(random.below(ttlMs));
      case "longWait":
        return desk.wait(ttlMs * 10);
      case "compaction":
        await desk.quire.ledger
          .compact({ session: "desk", keepTurns: 1 + random.below(3) })
          .catch(() => undefined);
        return;
      case "model":
        this.context = { ...this.context, model: random.pick(models) };
        return;
      case "headBack": {
        if (this.turns.length < 3) return;
        this.turns.splice(-1 - random.below(2));
        return desk.moveHead(this.turns.at(-1)!);
      }
    }
  }

  /** Assembles, checks, and answers. */
  async turn(): Promise<void> {
    const { desk, random } = this;
    const sent = await desk.assemble(this.context);
    const { receipt } = await desk.quire.assembly.getReceipt({ assemblyId: sent.completed.assemblyId });
    const [tools, system, history, current] = layersOf(sent).map(({ length }) => length);
    expect(receipt!.layerBytes).toEqual({ tools, system, history, current });
    this.check(sent);
    await checkKnowledge(desk, sent, this.context);
    this.sent.set(sent.completed.assemblyId!, sent);
    const outcome = random.weighted(this.weights.outcomes);
    if (outcome === "failedOpen" || outcome === "loop") return this.step(sent, outcome === "failedOpen");
    const said = assistant("Soon. ".repeat(outcome === "long" ? 100 : 1));
    const context = outcome === "ownContext" ? user("Mine.").parts : [];
    const turnId = await desk.record(sent, {
      messages: [{ ...user("And now?"), contextParts: context }, said],
      status: outcome === "failed" ? TurnStatus.FAILED : TurnStatus.COMPLETED,
      isUnnamed: outcome === "unnamed",
    });
    if (outcome !== "failed") this.turns.push(turnId);
  }

  /** A turn that is written step by step, and assembled again inside. */
  private async step(sent: SentContext, fails: boolean): Promise<void> {
    const { desk, random } = this;
    const { turn } = await desk.quire.ledger.beginTurn({
      session: "desk",
      parentTurnId: this.turns.at(-1) ?? "",
      messages: [user("And now?")],
      assemblyId: sent.resolved.assemblyId,
    });
    const turnId = turn!.id;
    for (let round = random.below(3); round > 0; round--) {
      const callId = `${turnId}-${round}`;
      await desk.quire.ledger.appendMessages({ turnId, messages: [toolCalls(callId), toolResults(callId)] });
      this.check(await desk.assemble({ ...this.context, activeTurnId: turnId, event: undefined }));
    }
    const messages = fails ? [] : [assistant("Soon.")];
    const status = fails ? TurnStatus.FAILED : TurnStatus.COMPLETED;
    await desk.quire.ledger.completeTurn({ turnId, status, result: { messages } });
    if (!fails) this.turns.push(turnId);
  }

  /** The bytes are those of the context before, but for what the receipt names; and that has a cause. */
  private check(sent: SentContext): void {
    const { prefix, completed } = sent;
    const before = this.sent.get(prefix.previousAssemblyId);
    expect(before === undefined).toBe(prefix.previousAssemblyId === "");
    if (!before) return;
    const difference = checkDifference(before, sent);
    const name = difference?.kind;
    this.differences.set(name, (this.differences.get(name) ?? 0) + 1);
    if (name !== ContextChangeKind.SECTION) return;
    const isCold = completed.cachePlan!.missCause?.kind === ContextChangeKind.TTL_PASSED;
    expect(prefix.cause !== undefined || isCold, `${difference!.detail} without a cause`).toBe(true);
  }
}

describe("neighbouring contexts of a session, whatever happens between them", () => {
  test("differ before the first new byte only where the receipt says so, to the byte, and leave nobody with what no longer holds", async () => {
    const differences = new Map<ContextChangeKind | undefined, number>();
    for (let seed = 1; seed <= 20; seed++) {
      const run = new RandomDesk(
        await WarmDesk.open(),
        new Random(seed),
        seed % 2 === 0 ? oneModel : severalModels,
      );
      for (let turn = 0; turn < 25; turn++) {
        await run.turn().catch((error: unknown) => {
          throw new Error(`seed ${seed}, turn ${turn}: ${String(error)}`, { cause: error });
        });
        await run.happen();
        if (run.random.chance(0.3)) await run.happen();
      }
      for (const [name, count] of run.differences)
        differences.set(name, (differences.get(name) ?? 0) + count);
      await run.desk.close();
    }
    console.log(`differences: ${JSON.stringify(Object.fromEntries(differences))}`);
    const { SECTION, TOOLS, CUT } = ContextChangeKind;
    for (const name of [undefined, SECTION, TOOLS, CUT]) expect(differences.get(name)).toBeGreaterThan(2);
    expect(differences.get(undefined)).toBeGreaterThan(100);
  });

  test("are the same from the first byte to the first new one while documents and the persona are all that changes", async () => {
    for (let seed = 101; seed <= 104; seed++) {
      const random = new Random(seed);
      const desk = await WarmDesk.open();
      let before = await desk.turn();
      for (let turn = 0; turn < 15; turn++) {
        if (random.chance(0.7)) await desk.write({ "AGENTS.md": rules(random.pick(editions)) });
        if (random.chance(0.2)) await desk.putCapsule(`You are Atlas ${random.pick(editions)}.`);
        desk.wait(random.below(ttlMs));
        const now = await desk.turn();
        const difference = checkDifference(before, now);
        const isDear = now.prefix.cause?.kind === ContextChangeKind.CARRYING_COSTS_MORE;
        expect(difference === undefined || isDear, JSON.stringify(difference)).toBe(true);
        await checkKnowledge(desk, now, {});
        before = now;
      }
      await desk.close();
    }
  });
});
