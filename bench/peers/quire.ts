import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createQuire } from "../../src/index.js";
import { countTokens } from "../../src/tokens/count-tokens.js";
import { text, turnMessages } from "../assembly-conversation.js";
import { question, type Said, systemText } from "./conversation.js";
import type { Engine } from "./engines.js";

const model = "gpt-4o";

/** BuildContext in process, on a database with the conversation in it. */
export const quireEngine: Engine = {
  package: "quire-server",
  way: "BuildContext, from its database",
  async prepare(all, maxTokens) {
    const folder = mkdtempSync(join(tmpdir(), "quire-bench-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    const quire = await createQuire({ database: `file:${join(folder, "quire.db")}`, logLevel: "silent" });
    await quire.capsules.putCapsule({
      name: "agent",
      body: { persona: { corePrompt: systemText, model: { model } } },
    });
    await quire.ledger.createSession({ label: "s" });
    const turns = (all.length - 2) / 4;
    for (let turn = 0; turn < turns; turn++)
      await quire.ledger.recordTurn({ session: "s", messages: turnMessages(turn) as never });
    const places = new Map(all.map((said) => [keyOf(said), said]));
    const settings = { reserveResponseTokens: 0, reserveToolTokens: 0, modelLimits: [{ model, maxTokens }] };
    const context = { session: "s", capsule: "agent", event: { content: [text(question)] }, settings };
    return async () => {
      const { context: made } = await quire.assembly.buildContext({ context });
      const { history: messages, currentMessage, systemPrompt } = made!;
      const system = { ...all[0]!, text: systemPrompt, tokens: countTokens(systemPrompt, "o200k_base") };
      const kept: Said[] = [];
      for (const message of [...messages, currentMessage!]) kept.push(placeOf(message, places, kept.length));
      // A summary stands where the conversation begins that it is the beginning of.
      const first = kept.find(({ at }) => at >= 0)!.at;
      return [system, ...kept.map((said) => (said.at < 0 ? { ...said, at: first - 1 } : said))];
    };
  },
};

type Sent = Parameters<typeof turnTexts>[0];

function turnTexts({ parts, contextParts }: { parts: readonly unknown[]; contextParts: readonly unknown[] }) {
  return { parts, contextParts } as never as {
    parts: readonly { content?: { $case: string; value: Readonly<Record<string, unknown>> } }[];
    contextParts: readonly { content?: { $case: string; value: Readonly<Record<string, unknown>> } }[];
  };
}

function keyOf({ role, text: said, callId }: Pick<Said, "role" | "text" | "callId">): string {
  return `${role} ${callId ?? said}`;
}

/** Which message of the conversation it is; a summary is none of them. */
function placeOf(
  message: Sent & { readonly role: string },
  places: ReadonlyMap<string, Said>,
  at: number,
): Said {
  const { parts, contextParts } = turnTexts(message);
  const role = message.role.replace("MESSAGE_ROLE_", "").toLowerCase() as Said["role"];
  const said = parts
    .map(({ content }) => (content?.$case === "text" ? String(content.value.text) : ""))
    .join("");
  const result = parts.find(({ content }) => content?.$case === "toolResult")?.content?.value;
  const callId = result ? String(result.callId) : undefined;
  const found = places.get(keyOf({ role, text: said, ...(callId ? { callId } : {}) }));
  const before = contextParts.map(({ content }) => String(content?.value.text ?? "")).join("");
  const extra = before === "" ? 0 : countTokens(before, "o200k_base");
  if (found) return { ...found, tokens: found.tokens + extra };
  if (at > 0) throw new Error(`a message that the conversation does not have: ${said.slice(0, 100)}`);
  return { at: -1, role: "user", text: said, tokens: countTokens(said, "o200k_base") };
}
