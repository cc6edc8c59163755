import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AssembledContext } from "../../src/contract/gen/quire/v1/assembly.js";
import { BudgetPolicy, CompressionStrategy } from "../../src/contract/gen/quire/v1/context_settings.js";
import { AgentRole } from "../../src/contract/gen/quire/v1/origin.js";
import { BodyFormat } from "../../src/contract/gen/quire/v1/rendering.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { defaultPromptTexts, type PromptTextName, promptTextNames } from "../../src/domain/prompt-texts.js";
import { WarningKind } from "../../src/domain/warning.js";
import type { Quire } from "../../src/index.js";
import { contextRequest, exactModel } from "../assembly/agent.js";
import { tokensBesideHistory } from "../assembly/keep-rules.js";
import { growSession, plainTurn } from "../assembly/long-session.js";
import { serveDesk } from "../assembly/served-desk.js";
import { deskRequest } from "../assembly/travel-desk.js";
import { CapturedLog } from "../server/captured-log.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { tempFolder } from "../support/temp-folder.js";

const base = { ...deskRequest, capsule: "atlas" };
const largestBytes = 10_000_000;

async function contextOf(quire: Quire, more: object = {}): Promise<AssembledContext> {
  return (await quire.assembly.buildContext({ context: { ...base, ...more } })).context!;
}

/** All that a model reads of a context. */
function readBy({ systemPrompt, history, currentMessage }: AssembledContext): string {
  return [systemPrompt, JSON.stringify(history), JSON.stringify(currentMessage)].join("\n");
}

async function serveTemplates(files: Partial<Record<PromptTextName, string>> = {}) {
  const folder = tempFolder();
  const write = (name: PromptTextName, text: string | Buffer) =>
    writeFileSync(join(folder, `${name}.md`), text);
  for (const [name, text] of Object.entries(files)) write(name as PromptTextName, text);
  const log = new CapturedLog();
  const primeFile = join(folder, "prime-of-the-operator.md");
  const desk = await serveDesk({ templatesFolder: folder, primeFile }, log.logger);
  return { ...desk, folder, write, log, primeFile };
}

describe("templates", () => {
  test("replace the words of the system prompt and of the current message, and a change applies to the next context", async () => {
    const { quire, write, folder } = await serveTemplates({
      manager: "MANAGE.",
      worker: "WORK: {{task}}",
      "environment-heading": "## Nexus Environment",
      "environment-introduction": "You have the `nexus` CLI.",
      "environment-skills-usage": "Run `nexus skill use <name>`.\n",
      "environment-group-separator": " ; \n",
      "tool-rules-heading": "# RULES",
      "current-time": "It is {{time}}",
      "current-actions": "",
      "current-metadata-entry": "* {{key}}={{value}}",
    });
    const event = { ...base.event, metadata: { a: "1" } };
    const first = await contextOf(quire, { role: AgentRole.MANAGER, event });
    expect(first.systemPrompt).toMatch(/^MANAGE\.\n\n# Rules/);
    expect(first.systemPrompt).toContain(
      "## Nexus Environment\n\nYou have the `nexus` CLI.\n\n### Capabilities",
    );
    expect(first.systemPrompt).toContain("### Using Skills\nRun `nexus skill use <name>`.\n- flights");
    expect(first.systemPrompt).toContain("flights ✅ ; hotels ⭐ (ready)");
    expect(first.systemPrompt).toContain("# RULES\n\n- Call");
    const said = readBy(first);
    expect(said).toMatch(/It is 2\d{3}-/);
    expect(said).toContain("* a=1");
    expect(said).not.toMatch(/Current time|Available actions/);
    const worker = { role: AgentRole.WORKER, task: "Look {{host}}." };
    expect((await contextOf(quire, worker)).systemPrompt).toMatch(/^WORK: Look \{\{host\}\}\.\n/);

    write("manager", "MANAGE MORE.");
    rmSync(join(folder, "tool-rules-heading.md"));
    const second = await contextOf(quire, { role: AgentRole.MANAGER });
    expect(second.systemPrompt).toMatch(/^MANAGE MORE\.\n/);
    expect(second.systemPrompt).toContain("# Tool Execution Rules");
    const hashOf = async ({ assemblyId }: AssembledContext) => {
      const { receipt } = await quire.assembly.getReceipt({ assemblyId: assemblyId });
      return receipt!.inputs.find(({ kind }) => kind === "INPUT_KIND_TEMPLATES")!.hash;
    };
    expect(await hashOf(first)).not.toEqual(await hashOf(second));
  });

  test("replace the marks in history and the summary's, and a replay has those of its time", async () => {
    const { quire, write } = await serveTemplates({
      "no-result": "[NOTHING CAME]",
      "left-out-result": "[{{tokens}} TOKENS GONE]",
      "left-out-messages": "[{{count}} MESSAGES GONE]",
      "summary-mark": "[WHAT\nWAS SAID]",
    });
    await quire.ledger.createSession({ label: "open" });
    await quire.ledger.recordTurn({
      session: "open",
      messages: [user("Look."), toolCalls("call-1")],
      status: TurnStatus.AWAITING,
    });
    const open = await contextOf(quire, { session: "open" });
    expect(readBy(open)).toContain("[NOTHING CAME]");

    const content = [{ content: { $case: "text" as const, value: { text: "word ".repeat(3_000) } } }];
    const result = { callId: "call-1", content, isError: false };
    const big = { ...toolResults(), parts: [{ content: { $case: "toolResult" as const, value: result } }] };
    await quire.ledger.createSession({ label: "big" });
    const messages = [
      user("Look."),
      toolCalls("call-0"),
      toolResults("call-0"),
      toolCalls("call-1", "call-2"),
      big,
      toolResults("call-2"),
    ];
    await quire.ledger.recordTurn({ session: "big", messages });
    const request = contextRequest("big", exactModel);
    const maxContextTokens = (await tokensBesideHistory(quire, request)) + 300;
    const fitted = (await quire.assembly.buildContext({ context: { ...request, maxContextTokens } }))
      .context!;
    expect(readBy(fitted)).toMatch(/\[\d+ TOKENS GONE\]/);
    expect(readBy(fitted)).toContain("[2 MESSAGES GONE]");

    const { compaction } = await quire.ledger.compact({ session: "desk", keepTurns: 1 });
    expect(compaction!.summary).not.toContain("WAS SAID");
    const compacted = await contextOf(quire);
    const [summary] = compacted.history[0]!.parts;
    expect(summary!.content).toMatchObject({
      $case: "text",
      value: { text: `[WHAT WAS SAID]\n${compaction!.summary}` },
    });

    for (const name of ["no-result", "left-out-result", "left-out-messages"] as const) write(name, "[OTHER]");
    expect(readBy(await contextOf(quire, { session: "open" }))).toContain("[OTHER]");
    for (const context of [open, fitted, compacted]) {
      const replayed = await quire.assembly.replayContext({ assemblyId: context.assemblyId });
      expect(replayed.context!.history).toEqual(context.history);
      expect(replayed.context!.hashes).toEqual(context.hashes);
    }
    const layer = open.historyLayer!;
    expect((await contextOf(quire, { session: "open" })).historyLayer!.cutId).not.toBe(layer.cutId);
  });

  test("replace the frames of updates, and the default says that a rebuilt prompt counts", async () => {
    const { quire } = await serveTemplates({ "update-head": "<<{{section}}>>", "update-end": "<<end>>" });
    const turn = async (text: string) => {
      const context = await contextOf(quire);
      await quire.ledger.recordTurn({
        session: "desk",
        parentTurnId: context.parentTurnId,
        messages: [user(text), assistant("Good.")],
        assemblyId: context.assemblyId,
      });
      return context;
    };
    await turn("one");
    const rewrite = (content: string) =>
      quire.workspaces.putDocuments({ workspace: "desk", documents: [{ path: "SOUL.md", content }] });
    await rewrite("Quick.");
    const told = await turn("two");
    expect(readBy(told)).toContain("<<soul>>\\nThis section now reads:\\nQuick.\\n<<end>>");
    const rebuilt = await contextOf(quire, { modeBlocks: [{ name: "m", content: "Now." }] });
    expect(readBy(rebuilt)).toContain(defaultPromptTexts["update-rebuilt"]);
    expect(defaultPromptTexts["update-rebuilt"]).toBe(
      "The system prompt was rebuilt and includes all earlier updates; ignore those.",
    );
  });

  test("replace the words of bodies, but for empty ones, and a body that is rendered again has those of its time", async () => {
    const { quire, write } = await serveTemplates({
      "body-failed": "FAILED: {{text}}",
      "body-failed-silently": "",
    });
    const failed = (callId: string, ...texts: readonly string[]) => {
      const content = texts.map((text) => ({ content: { $case: "text" as const, value: { text } } }));
      return { content: { $case: "toolResult" as const, value: { callId, content, isError: true } } };
    };
    const results = { ...toolResults(), parts: [failed("call-8"), failed("call-9", "no seats")] };
    await quire.ledger.createSession({ label: "failing" });
    await quire.ledger.recordTurn({
      session: "failing",
      messages: [user("Look."), toolCalls("call-8", "call-9"), results, assistant("None.")],
    });
    const render = BodyFormat.OPENAI_CHAT;
    const build = () => quire.assembly.buildContext({ context: { ...base, session: "failing", render } });
    const { context, rendered } = await build();
    const body = rendered!.body.toString();
    expect(body).toContain("FAILED: no seats");
    expect(body).toContain(defaultPromptTexts["body-failed-silently"]);
    write("body-failed", "BROKEN: {{text}}");
    expect((await build()).rendered!.body.toString()).toContain("BROKEN: no seats");
    const again = await quire.assembly.replayContext({ assemblyId: context!.assemblyId, render });
    expect(again.rendered!.body.toString()).toBe(body);
  });

  test("replace the line that stands for dropped turns; an empty one has its default, for a summary says something", async () => {
    const { quire, write } = await serveTemplates({
      "extract-left-out": "{{count}} TURNS GONE.",
      "extract-still-used": "HOLD",
    });
    const compact = { keepTurns: 1, compressionStrategy: CompressionStrategy.TRUNCATE };
    const messages = (number: number) => [
      ...plainTurn(number).slice(0, 1),
      assistant("TODO: the refund for order W1234567 is still open."),
    ];
    await quire.ledger.createSession({ label: "long" });
    await growSession(quire, "long", [1, 4], "", messages);
    const { compaction } = await quire.ledger.compact({ session: "long", ...compact });
    expect(compaction!.summary).toBe("3 TURNS GONE. HOLD W1234567");

    write("extract-left-out", "\n");
    await quire.ledger.createSession({ label: "other" });
    await growSession(quire, "other", [1, 4]);
    const second = await quire.ledger.compact({ session: "other", ...compact });
    expect(second.compaction!.summary).toBe("Earlier turns that are not shown: 3.");
  });

  test("replace the mark of a text that was cut", async () => {
    const { quire } = await serveTemplates({ truncated: "[CUT]" });
    const settings = { policy: BudgetPolicy.STRICT_TRUNCATE };
    const context = await contextOf(quire, { settings, maxContextTokens: 500 });
    expect(context.systemPrompt).toMatch(/\n\[CUT\]$/);
  });

  test("that are 10 MB of random bytes, prime.md too, leave the last good texts in force, with a warning for each", async () => {
    const { quire, folder, primeFile, log, write } = await serveTemplates({ manager: "MANAGE." });
    writeFileSync(primeFile, "Obey the operator.");
    const good = await contextOf(quire, { role: AgentRole.MANAGER });
    expect(good.warnings).toEqual([]);

    const noise = join(folder, "noise");
    writeFileSync(noise, randomBytes(largestBytes));
    for (const file of [...promptTextNames.map((name) => join(folder, `${name}.md`)), primeFile]) {
      rmSync(file, { force: true });
      symlinkSync(noise, file);
    }
    const bad = await contextOf(quire, { role: AgentRole.MANAGER });
    expect(bad.systemPrompt).toBe(good.systemPrompt);
    expect(bad.systemPrompt).toMatch(/^Obey the operator\.\n\nMANAGE\.\n/);
    expect(bad.warnings).toHaveLength(promptTextNames.length + 1);
    expect(bad.warnings).toContainEqual({
      kind: WarningKind.OVERRIDE_NOT_READ,
      detail:
        "prime.md is not used: it has 10000000 bytes, and 1048576 are allowed; the text before stays in force",
    });
    for (const name of promptTextNames)
      expect(bad.warnings).toContainEqual({
        kind: WarningKind.TEMPLATE_NOT_READ,
        detail: `the template ${name}.md is not used: it has 10000000 bytes, and 65536 are allowed; the text before stays in force`,
      });
    const { receipt } = await quire.assembly.getReceipt({ assemblyId: bad.assemblyId });
    expect(receipt!.warnings).toEqual(bad.warnings);
    await contextOf(quire);
    const logged = log.lines.filter(({ msg }) => msg.startsWith("a file of the operator is not used"));
    expect(logged).toHaveLength(promptTextNames.length + 1);

    rmSync(join(folder, "manager.md"));
    rmSync(primeFile);
    write("manager", randomBytes(1_000));
    mkdirSync(primeFile);
    const worse = await contextOf(quire, { role: AgentRole.MANAGER });
    expect(worse.systemPrompt).toBe(good.systemPrompt);
    const details = worse.warnings.map(({ detail }) => detail).join("\n");
    expect(details).toMatch(/prime\.md is not used: it is no file/);
    expect(details).toMatch(/manager\.md is not used: it is not text in UTF-8/);

    for (const name of promptTextNames) rmSync(join(folder, `${name}.md`));
    rmSync(primeFile, { recursive: true });
    const none = await contextOf(quire, { role: AgentRole.MANAGER });
    expect(none.warnings).toEqual([]);
    expect(none.systemPrompt).toMatch(/^# Manager Context\n/);
  });

  test("that are bad from the start leave the default texts in force", async () => {
    const { quire } = await serveTemplates({ manager: "\u0000\u0001" });
    const context = await contextOf(quire, { role: AgentRole.MANAGER });
    expect(context.systemPrompt).toMatch(/^# Manager Context\n/);
    expect(context.warnings).toEqual([
      {
        kind: WarningKind.TEMPLATE_NOT_READ,
        detail: expect.stringContaining("manager.md is not used: it is not text"),
      },
    ]);
  });

  test("are all in docs/operations.md", () => {
    const page = readFileSync("docs/operations.md", "utf8");
    expect(promptTextNames.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});
