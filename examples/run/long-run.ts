import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "quire-client";
import { anthropicApi } from "../provider/anthropic.js";
import { geminiApi } from "../provider/gemini.js";
import { openaiChatApi } from "../provider/openai-chat.js";
import { openaiResponsesApi } from "../provider/openai-responses.js";
import { type FakeProvider, startProviders } from "../provider/provider.js";
import { obedientScript } from "../provider/script.js";
import { checkRun } from "./check-run.js";
import { messageOf, pageOf } from "./messages.js";
import { ServedQuire } from "./served-quire.js";

/** An agent as a program: it takes a session's name as its last argument, and each line of its input is a turn. */
export interface AgentProgram {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface LongRunOptions {
  /** The root of the repository, with the built server. */
  readonly root: string;
  readonly turns?: number;
  /** How many turns a provider has before the thread goes to the next. */
  readonly turnsEach?: number;
}

/** What a run came to; it throws for whatever should not have happened. */
export interface LongRunResult {
  readonly turns: number;
  readonly modelCalls: number;
  readonly workers: number;
  readonly overflows: number;
  readonly kills: number;
  /** What the simulated prompt caches read, as a share of all input. */
  readonly cacheShare: Readonly<Record<string, number>>;
}

/** The order in which the providers take their turns, by the names that agents know them by. */
const order = ["anthropic", "openai", "gemini", "openai-chat"] as const;
const nameOf: Readonly<Record<string, string>> = { openai: "openai-responses" };

/**
 * Drives an agent through many turns with tools, on stand-ins for all four APIs that are as strict as the real ones: one thread goes from
 * provider to provider, in the third round each provider refuses a context as too long, and in every third part the server is killed while
 * a turn is being written.
 */
export async function longRun(
  agent: AgentProgram,
  { root, turns = 200, turnsEach = 10 }: LongRunOptions,
): Promise<LongRunResult> {
  const folder = await mkdtemp(join(tmpdir(), "quire-agent-"));
  const quire = new ServedQuire(root, folder);
  const apis = [anthropicApi(), openaiResponsesApi(), geminiApi(), openaiChatApi()];
  const providers = await startProviders(apis, { script: obedientScript });
  try {
    await openSession(quire.address);
    await mkdir(join(folder, "files", "pages"), { recursive: true });
    for (let page = 0; page < 10; page++)
      await writeFile(join(folder, "files", "pages", `${page}.txt`), pageOf(page));
    for (let part = 0; part * turnsEach < turns; part++) {
      const from = part * turnsEach;
      const lines = Array.from({ length: Math.min(turnsEach, turns - from) }, (_, at) =>
        messageOf(from + at),
      );
      const name = order[part % order.length]!;
      const provider = providers.find((each) => each.name === (nameOf[name] ?? name))!;
      const isThirdRound = Math.floor(part / order.length) === 2;
      // Not every provider says what its limit is.
      const tokens = Math.max(5_400, Math.ceil(provider.lastTokens * 0.9));
      if (isThirdRound) provider.limit = { tokens, says: part % 2 === 0 };
      const kill = part % 3 === 1 ? killAfter(quire, provider, 3 + (part % 5)) : undefined;
      const env = {
        ...agent.env,
        QUIRE_ADDRESS: quire.address,
        AGENT_PROVIDER: name,
        AGENT_MODEL_URL: new URL(provider.url).origin,
        AGENT_FOLDER: join(folder, "files"),
      };
      await runProgram({ ...agent, env }, lines);
      await kill?.();
      provider.limit = undefined;
    }
    return await checkRun(quire, providers, turns, folder);
  } finally {
    await quire.stop();
    await providers[0]!.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The thread is kept short, so that it is compacted again and again. */
async function openSession(address: string): Promise<void> {
  const quire = connect(address);
  await quire.ledger.createSession({ label: "long-run", defaults: { maxContextTokens: 12_000 } });
  quire.close();
}

/**
 * Kills the server right after the provider has answered so many requests from now on, when the answer is about to be recorded; or when it is
 * called, if there were not so many.
 */
function killAfter(quire: ServedQuire, provider: FakeProvider, requests: number): () => Promise<void> {
  const from = provider.answered;
  let killed: Promise<void> | undefined;
  const kill = () => {
    killed ??= quire.killAndRestart();
    return killed;
  };
  provider.onAnswer = () => {
    if (provider.answered - from >= requests) kill();
  };
  return () => {
    provider.onAnswer = undefined;
    return kill();
  };
}

async function runProgram({ command, cwd, env }: AgentProgram, lines: readonly string[]): Promise<void> {
  const [program, ...args] = command;
  const child = spawn(program!, [...args, "long-run"], { cwd, env: { ...process.env, ...env } });
  let said = "";
  child.stdout.on("data", (data) => {
    said += data;
  });
  child.stderr.on("data", (data) => {
    said += data;
  });
  child.stdin.end(`${lines.join("\n")}\n`);
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}\n${said.slice(-4_000)}`);
}
