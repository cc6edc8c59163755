import { describe, expect, test } from "vitest";
import { Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { BodyFormat } from "../../src/contract/gen/quire/v1/rendering.js";
import { sha256 } from "../../src/domain/hash.js";
import { bodyOf, eventsOf, formats } from "../assembly/rendered-context.js";
import { type ServedDesk, serveDesk } from "../assembly/served-desk.js";
import { deskRequest } from "../assembly/travel-desk.js";
import { toolResults, user } from "../support/messages.js";

describe("what is large is read in a worker thread, with the same answer", () => {
  const keys = Array.from({ length: 2_000 }, (_, index) => `"k${index}":0`);
  const wide = `{${" ".repeat(300_000)}${keys.join(",")}}`;

  test.each(formats)("a body for $name", async ({ format }) => {
    const desk = await serveDesk();
    const tasks = countTasks(desk);
    const body = (filler: string) =>
      Buffer.from(`{"unknown":"${filler}","messages":3,"input":3,"contents":3}`);
    const small = await desk.quire.assembly.validateBody({ format, body: body("") });
    expect(tasks()).toBe(0);
    const large = await desk.quire.assembly.validateBody({ format, body: body("x".repeat(300_000)) });
    expect(tasks()).toBe(1);
    expect(large).toEqual(small);
    expect(small.problems.length).toBeGreaterThan(0);
  });

  test("a context whose calls have much JSON, and its replay", async () => {
    const desk = await serveDesk();
    const { session } = await desk.quire.ledger.getSession({ session: "desk" });
    const value = { callId: "wide", name: "search", argumentsJson: wide, signature: "" };
    const call = Message.create({
      role: MessageRole.ASSISTANT,
      parts: [{ content: { $case: "toolCall", value } }],
    });
    await desk.quire.ledger.recordTurn({
      session: "desk",
      parentTurnId: session!.headTurnId,
      messages: [user("Look."), call, toolResults("wide")],
    });
    const tasks = countTasks(desk);
    for (const { format, model } of formats) {
      const events = await eventsOf(desk.quire, {
        ...deskRequest,
        capsule: "atlas",
        model,
        render: format,
      });
      const completed = events.at(-1);
      if (completed?.$case !== "completed") throw new Error("the assembly is not completed");
      const { body, hash } = bodyOf(events);
      const text = body.toString();
      expect(text.includes(keys.join(",")) || text.includes(keys.join(",").replaceAll('"', '\\"'))).toBe(
        true,
      );
      expect(hash.equals(sha256(body))).toBe(true);
      const { assemblyId } = completed.value;
      const replayed = await desk.quire.assembly.replayContext({ assemblyId, render: format });
      expect(replayed.rendered!.body.equals(body)).toBe(true);
    }
    expect(tasks()).toBe(2 * formats.length);
  });

  test("at most a hundred problems of a body with thousands are given", async () => {
    const { quire } = await serveDesk();
    const body = Buffer.from(`{"messages":[${"0,".repeat(200_000)}0],"model":"m"}`);
    const { problems } = await quire.assembly.validateBody({ format: BodyFormat.OPENAI_CHAT, body });
    expect(problems).toHaveLength(100);
  });

  test("calls and responses by the hundred thousand are matched once", async () => {
    const { quire } = await serveDesk();
    const names = Array.from({ length: 100_000 }, (_, index) => `f${index}`);
    const calls = names.map((name) => `{"functionCall":{"name":"${name}"}}`);
    const responses = names.reverse().map((name) => `{"functionResponse":{"name":"${name}","response":{}}}`);
    const body = `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[${calls}]},{"role":"user","parts":[${responses}]}]}`;
    const answer = await quire.assembly.validateBody({ format: BodyFormat.GEMINI, body: Buffer.from(body) });
    expect(answer).toEqual({ problems: [] });
  });
});

function countTasks({ engine }: ServedDesk): () => number {
  const { offload } = engine.assembly;
  const run = offload.run.bind(offload);
  let count = 0;
  offload.run = ((...args: Parameters<typeof run>) => {
    count++;
    return run(...args);
  }) as typeof offload.run;
  return () => count;
}
