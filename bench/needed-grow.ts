import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Message, MessageRole } from "../src/contract/gen/quire/v1/message.js";
import { createQuire, type Quire, QuireError } from "../src/index.js";
import type { PlannedTurn } from "../src/transcripts/import/transcript.js";

/** One request to the model: what was said until then, what the engine sent of it, and what the model answered. */
export interface GrownRequest {
  readonly turn: number;
  /** Whether it answers an event; else it is inside a tool loop. */
  readonly isEvent: boolean;
  readonly before: readonly Message[];
  readonly sent: readonly Message[];
  /** Of what was sent; all there are, where nothing could be sent. */
  readonly tokens: number;
  readonly compactionId: string;
  readonly answer: Message;
}

interface Assembled extends Pick<GrownRequest, "sent" | "tokens" | "compactionId"> {
  readonly assemblyId: string | undefined;
}

/** An engine whose database is thrown away. */
export async function withQuire<Result>(work: (quire: Quire) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "quire-bench-"));
  const database = `file:${join(folder, "quire.db")}`;
  const quire = await createQuire({ database, primeFile: "", logLevel: "error" });
  try {
    await quire.capsules.putCapsule({ name: "agent", body: { persona: { corePrompt: "You write code." } } });
    return await work(quire);
  } finally {
    await quire.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes a thread as an engine would, and assembles a context before each answer of the model. */
export async function* grow(
  quire: Quire,
  session: string,
  thread: readonly PlannedTurn[],
  maxContextTokens: number,
  settings: object = {},
): AsyncGenerator<GrownRequest> {
  const { ledger, assembly } = quire;
  await ledger.createSession({ label: session });
  const before: Message[] = [];
  let parentTurnId = "";
  for (const [turn, planned] of thread.entries()) {
    const messages = planned.messages.filter(({ role }) => role !== MessageRole.SYSTEM);
    const answerAt = messages.findIndex(({ role }) => role === MessageRole.ASSISTANT);
    const asked = messages.slice(0, answerAt < 0 ? messages.length : answerAt);
    const ask = async (about: object): Promise<Assembled> => {
      const { context } = await assembly
        .buildContext({
          context: { session, capsule: "agent", model: "gpt-4o", maxContextTokens, settings, ...about },
        })
        .catch((error: unknown) => {
          if (error instanceof QuireError && error.reason === "CONTEXT_TOO_LARGE")
            return { context: undefined };
          throw error;
        });
      const sent = [
        ...(context?.history ?? []),
        ...(context?.currentMessage ? [context.currentMessage] : []),
      ];
      const used = context?.tokenBudget?.used;
      return {
        assemblyId: context?.assemblyId,
        sent,
        tokens: used ? used.history + used.event : maxContextTokens,
        compactionId: context?.historyLayer?.compactionId ?? "",
      };
    };
    const hasEvent = asked.length === 1 && asked[0]!.role === MessageRole.USER && asked[0]!.parts.length > 0;
    let next = hasEvent
      ? await ask({ event: { id: `event-${turn}`, content: asked[0]!.parts, timezone: "UTC" } })
      : undefined;
    const { abandonOpenItems } = planned;
    let assemblyId = next?.assemblyId;
    const begun = await ledger.beginTurn({
      session,
      parentTurnId,
      messages: asked,
      abandonOpenItems,
      assemblyId,
    });
    const turnId = begun.turn!.id;
    parentTurnId = turnId;
    before.push(...asked);
    for (const message of messages.slice(asked.length)) {
      if (message.role === MessageRole.ASSISTANT) {
        const isEvent = next !== undefined;
        next ??= await ask({ activeTurnId: turnId });
        assemblyId = next.assemblyId;
        yield { turn, isEvent, before, ...next, answer: message };
      }
      next = undefined;
      await ledger.appendMessages({ turnId, messages: [message], assemblyId });
      before.push(message);
    }
    const { status } = planned;
    await ledger.completeTurn({ turnId, status, assemblyId });
  }
}
