// A whole agent: two tools, streaming, memory, a worker, contexts that never overflow. Each line of its input is a turn.
//   npm run agent -- [session]
// It talks to the provider whose key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY), else to the stand-in (npm run provider).
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { createInterface } from "node:readline";
import {
  Agent,
  anthropic,
  connect,
  gemini,
  openai,
  openaiChat,
  type QuireError,
  type Tool,
  workerTool,
} from "quire-client";

const { env } = process;
process.on("uncaughtException", (error) => {
  console.error(String(error));
  process.exit(1);
});
const providers = {
  anthropic: { make: anthropic, model: "claude-sonnet-5-5", apiKey: env.ANTHROPIC_API_KEY },
  openai: { make: openai, model: "gpt-6-sol", apiKey: env.OPENAI_API_KEY },
  "openai-chat": { make: openaiChat, model: "gpt-6-sol", apiKey: env.OPENAI_API_KEY },
  gemini: { make: gemini, model: "gemini-4-argon", apiKey: env.GEMINI_API_KEY },
};
const withKey = Object.entries(providers).find(([, { apiKey }]) => apiKey)?.[0] ?? "anthropic";
const chosen = providers[(env.AGENT_PROVIDER ?? withKey) as keyof typeof providers];
if (!chosen) throw new Error(`AGENT_PROVIDER is one of ${Object.keys(providers).join(", ")}`);
const standIn = env.AGENT_MODEL_URL ?? (chosen.apiKey ? undefined : "http://127.0.0.1:8080");
const model = chosen.make({
  model: env.AGENT_MODEL ?? chosen.model,
  apiKey: chosen.apiKey ?? "none",
  ...(standIn ? { baseUrl: standIn } : {}),
});

const folder = resolve(env.AGENT_FOLDER ?? "agent-files");
const path = { type: "string", description: "The file, relative to the agent's folder." };

/** A path inside the agent's folder. */
function inside(name: string): string {
  const file = resolve(folder, name);
  if (relative(folder, file).startsWith("..")) throw new Error(`${name} is outside of the folder`);
  return file;
}

const readTool: Tool = {
  name: "read_file",
  description: "Reads a text file.",
  schema: { type: "object", properties: { path }, required: ["path"] },
  run: ({ path }) => readFile(inside(path), "utf8"),
};
const writeTool: Tool = {
  name: "write_file",
  description: "Writes a text file, in place of what it held.",
  schema: { type: "object", properties: { path, text: { type: "string" } }, required: ["path", "text"] },
  async run({ path, text }) {
    await mkdir(dirname(inside(path)), { recursive: true });
    await writeFile(inside(path), text);
    return `wrote ${Buffer.byteLength(text)} bytes to ${join(path)}`;
  },
};

const quire = connect(env.QUIRE_ADDRESS ?? "127.0.0.1:50051");
const corePrompt =
  "You are a clerk, who keeps the files of a small company. Write down in your notes what you will need later.";
const body = { persona: { corePrompt, memory: { tools: true } } };
// Later calls wait a minute for a server that is away; the first one says sooner that there is none.
await quire.capsules.putCapsule({ name: "clerk", body }, { timeoutMs: 10_000 });
await quire.memory
  .createBlock({ block: { owner: { name: "clerk" }, label: "notes" }, type: "BLOCK_TYPE_CORE" })
  .catch((error: QuireError) => {
    if (error.reason !== "BLOCK_EXISTS") throw error;
  });
const agent = new Agent(quire, {
  session: process.argv[2] ?? "office",
  capsule: "clerk",
  model,
  tools: [readTool, writeTool, workerTool({ tools: [readTool] })],
});

for await (const line of createInterface(process.stdin)) {
  if (line.trim() === "") continue;
  const { steps, turn } = await agent.turn(line, {
    onText: (piece) => process.stdout.write(piece),
    onCall: ({ name, argumentsJson }) => console.log(`\n> ${name} ${argumentsJson.slice(0, 100)}`),
  });
  console.log(`\n[turn ${turn.depth}, model called ${steps} times]`);
}
quire.close();
