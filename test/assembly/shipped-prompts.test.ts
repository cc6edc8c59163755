import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../support/temp-folder.js";
import { exactModel, putAgent } from "./agent.js";
import { openedEngine } from "./opened-engine.js";

const event = { content: [{ content: { $case: "text" as const, value: { text: "Hello." } } }] };

async function agent(flags: object = {}) {
  const { quire } = await openedEngine(flags);
  await putAgent(quire);
  await quire.ledger.createSession({ label: "s" });
  return async (settings: object = {}, more: object = {}) => {
    const context = { session: "s", capsule: "atlas", model: exactModel, event, settings, ...more };
    return (await quire.assembly.buildContext({ context })).context!;
  };
}

test("the shipped base prompt is off until it is wanted, names agent, model and provider, and has its parts in order", async () => {
  const build = await agent();
  const plain = await build();
  expect(plain.sections.map(({ name }) => name)).toEqual(["persona"]);
  const shipped = await build({ basePrompt: true });
  expect(shipped.sections.map(({ name }) => name)).toEqual([
    "identity",
    "persona",
    "language",
    "personality",
    "skills",
    "memory",
    "autonomy",
  ]);
  expect(shipped.systemPrompt).toMatch(/^You are atlas, an AI agent running on gpt-4o \(openai\)\.\n\n/);
  const other = await build({ basePrompt: true }, { model: "claude-haiku-4-5" });
  expect(other.systemPrompt).toMatch(
    /^You are atlas, an AI agent running on claude-haiku-4-5 \(anthropic\)\.\n\n/,
  );
});

test("an operator's text takes the place of the shipped one", async () => {
  const templatesFolder = tempFolder();
  writeFileSync(join(templatesFolder, "language.md"), "Speak Latin.");
  writeFileSync(join(templatesFolder, "base-personality.md"), "");
  const build = await agent({ templatesFolder });
  const { systemPrompt, sections } = await build({ basePrompt: true });
  expect(systemPrompt).toContain("Speak Latin.");
  expect(sections.map(({ name }) => name)).not.toContain("personality");
});

test("sovereign mode ends the system prompt, as the seed shows it", async () => {
  const build = await agent();
  const { systemPrompt } = await build({ sovereignMode: true });
  expect(systemPrompt).toMatch(/\n\n⚡ SOVEREIGN MODE ACTIVE\nMAX_SKILL_ROUNDS: 12\nAUTONOMY: FULL$/);
  expect((await build({ sovereignMode: true, maxSkillRounds: 3 })).systemPrompt).toContain(
    "MAX_SKILL_ROUNDS: 3\n",
  );
});

test("prime.md is on top of the very next context after each of 100 saves, in place and by rename, and always whole", async () => {
  const folder = tempFolder();
  const primeFile = join(folder, "prime.md");
  const build = await agent({ primeFile });
  const tail = "every word of it counts. ".repeat(400);
  for (let save = 1; save <= 100; save++) {
    const text = `Save ${save}: ${tail}end ${save}.`;
    if (save % 2 === 0) writeFileSync(primeFile, text);
    else {
      writeFileSync(join(folder, "next.md"), text);
      renameSync(join(folder, "next.md"), primeFile);
    }
    const { systemPrompt } = await build();
    expect(systemPrompt.startsWith(`${text}\n\n`), `save ${save}`).toBe(true);
  }
});
