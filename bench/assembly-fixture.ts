import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { putCapsule } from "../src/capsule/put-capsule.js";
import { loadConfig } from "../src/config/load-config.js";
import { type Config, configOptions } from "../src/config/options.js";
import { ContextRequest } from "../src/contract/gen/quire/v1/assembly_service.js";
import { CapsuleBody } from "../src/contract/gen/quire/v1/capsule.js";
import { Document, Toolset } from "../src/contract/gen/quire/v1/workspace.js";
import { OnHeadMoved } from "../src/domain/session.js";
import { TurnStatus } from "../src/domain/turn.js";
import { type Engine, openEngine } from "../src/engine.js";
import { createSession } from "../src/ledger/create-session.js";
import { forkSession } from "../src/ledger/fork-session.js";
import { recordTurn } from "../src/ledger/record-turn.js";
import { createLogger } from "../src/telemetry/logger.js";
import { putDocuments } from "../src/workspace/documents.js";
import { putToolset } from "../src/workspace/toolsets.js";
import { putWorkspace } from "../src/workspace/workspaces.js";
import { text, turnMessages } from "./assembly-conversation.js";
import { AssemblyFloor } from "./assembly-floor.js";
import { noKey, tenantId } from "./ledger-fixture.js";
import { progress, prose, seeded } from "./measure.js";

/** The lengths of the thread that are compared: sessions of these names. */
export const lengths = [100, 1_000, 10_000] as const;
export const messagesPerTurn = 4;
const model = "gpt-4o";

/** An agent with a persona, documents and tools, a conversation with it, and the same conversation in the floor's table. */
export class AssemblyFixture {
  private constructor(
    readonly folder: string,
    readonly config: Config,
    readonly engine: Engine,
    readonly floor: AssemblyFloor,
  ) {}

  static async open(): Promise<AssemblyFixture> {
    const folder = mkdtempSync(join(tmpdir(), "quire-bench-"));
    const config = benchConfig(folder);
    const engine = await openEngine(config, createLogger("silent"));
    const fixture = new AssemblyFixture(folder, config, engine, new AssemblyFloor(join(folder, "floor.db")));
    await putAgent(engine);
    await fixture.converse();
    return fixture;
  }

  async close(): Promise<void> {
    this.floor.close();
    await this.engine.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** One thread; the shorter ones are its beginnings, as sessions of their own. */
  private async converse(): Promise<void> {
    const { ledger } = this.engine;
    const command = { label: "thread", workspacePath: "", metadata: {}, subAgent: undefined };
    await createSession(ledger, noKey("CreateSession"), command);
    let parentTurnId = "";
    for (let turn = 1; turn <= lengths.at(-1)!; turn++) {
      if (turn % 2_500 === 1) progress(`assembly: recording from turn ${turn.toLocaleString("en")}`);
      const messages = turnMessages(turn);
      await this.floor.append(ledger.counter, messages);
      const answer = await recordTurn(ledger, noKey("RecordTurn"), {
        session: "thread",
        parentTurnId,
        onHeadMoved: OnHeadMoved.FAIL,
        details: undefined,
        messages,
        result: undefined,
        status: TurnStatus.COMPLETED,
        abandonOpenItems: false,
        assembly: undefined,
      });
      parentTurnId = answer.headTurnId;
      if (lengths.some((length) => length === turn)) await this.fork(String(turn), parentTurnId);
    }
    progress("assembly: indexing");
    // Or it would be done while contexts are measured.
    while ((await this.engine.recall.indexer.catchUp(tenantId)) > 0);
  }

  async fork(label: string, turnId: string): Promise<void> {
    await forkSession(this.engine.ledger, noKey("ForkSession"), {
      session: "",
      at: { $case: "turnId", value: turnId },
      label,
      workspacePath: "",
      metadata: {},
    });
  }
}

/** An agent with a persona, documents and tools. */
export async function putAgent({ capsules, workspaces }: Engine): Promise<void> {
  const random = seeded(3);
  const persona = { corePrompt: prose(random, 3_000), knobs: { intelligenceLevel: 9 } };
  const body = CapsuleBody.fromPartial({ persona });
  await putCapsule(capsules, noKey("PutCapsule"), { name: "agent", body });
  await putWorkspace(workspaces, noKey("PutWorkspace"), { name: "w", path: "/w", runtime: undefined });
  const documents = ["AGENTS.md", "SOUL.md"].map((path) =>
    Document.fromPartial({ path, content: prose(random, 2_000) }),
  );
  await putDocuments(workspaces, noKey("PutDocuments"), { workspace: "w", documents, removePaths: [] });
  const inputSchemaJson = JSON.stringify({
    type: "object",
    properties: { query: { type: "string", description: prose(random, 80) }, limit: { type: "integer" } },
    required: ["query"],
  });
  const tools = Array.from({ length: 12 }, (_, index) => ({
    name: index === 0 ? "search_records" : `tool_${index}`,
    description: prose(random, 160),
    inputSchemaJson,
  }));
  await putToolset(workspaces, noKey("PutToolset"), "w", Toolset.fromPartial({ name: "tools", tools }));
}

export function benchConfig(folder: string): Config {
  const flags = {
    database: `file:${join(folder, "quire.db")}`,
    primeFile: join(folder, "prime.md"),
    listen: ["127.0.0.1:0"],
  };
  return loadConfig({
    flags: { historyCacheBytes: configOptions.historyCacheBytes.fallback, ...flags },
    env: {},
  });
}

/** A context of at most so many tokens, all of them for what there is. */
export function contextRequest(session: string, budget: number): ContextRequest {
  const modelLimits = [{ model, maxTokens: budget, memoryTokens: 0, reserveResponseTokens: 0 }];
  return ContextRequest.fromPartial({
    session,
    capsule: "agent",
    workspace: "w",
    toolset: "tools",
    model,
    // The floor cuts, too; and one thread serves several budgets here, of which the smallest would compact it for all.
    settings: { modelLimits, reserveToolTokens: 0, compressionStrategy: "COMPRESSION_STRATEGY_WINDOW" },
    event: { id: "e", content: [text(prose(seeded(5), 200))], platform: "chat", timezone: "UTC" },
  });
}

export { tenantId };
