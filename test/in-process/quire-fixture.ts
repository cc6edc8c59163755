import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createQuire, type Quire, QuireError } from "../../src/index.js";
import { tempFolder } from "../support/temp-folder.js";

/** An engine of the running test, with a database of its own unless one is given. */
export async function testQuire(database = `file:${join(tempFolder(), "quire.db")}`): Promise<Quire> {
  const quire = await createQuire({ database, primeFile: "", logLevel: "silent" });
  onTestFinished(() => quire.close());
  return quire;
}

/** The error of a call that must fail. */
export async function refusal(call: Promise<unknown>): Promise<QuireError> {
  const thrown = await call.then(
    () => new Error("the call succeeded"),
    (error: unknown) => error,
  );
  if (thrown instanceof QuireError) return thrown;
  throw thrown;
}

export async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** A capsule and a session of the same name, with turns. */
export async function seed(quire: Quire, name: string, turns: number): Promise<void> {
  await quire.capsules.putCapsule({ name, body: { persona: { corePrompt: "You are Atlas." } } });
  await quire.ledger.createSession({ label: name });
  let parentTurnId = "";
  for (let turn = 1; turn <= turns; turn++) {
    const messages = [{ role: "MESSAGE_ROLE_USER" as const, parts: [text(`question ${turn}`)] }];
    const result = {
      messages: [{ role: "MESSAGE_ROLE_ASSISTANT" as const, parts: [text(`answer ${turn}`)] }],
    };
    const recorded = await quire.ledger.recordTurn({ session: name, parentTurnId, messages, result });
    parentTurnId = recorded.headTurnId;
  }
}

export function text(value: string) {
  return { content: { $case: "text" as const, value: { text: value } } };
}

export function contextOf(name: string) {
  return { context: { session: name, capsule: name, event: { content: [text("and now?")] } } };
}
