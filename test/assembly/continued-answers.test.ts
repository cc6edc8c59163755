import { describe, expect, onTestFinished, test } from "vitest";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { openTestQuire } from "./engine.js";
import { formats, parsed, renderedOf } from "./rendered-context.js";
import { deskRequest, putCapsule, setUpTravelDesk } from "./travel-desk.js";

type Message = ReturnType<typeof user>;

/** A turn whose model answers step by step; before each answer, the messages of the body that asks for it. */
async function bodiesOf(
  { format, model }: (typeof formats)[number],
  steps: readonly (readonly Message[])[],
  namesAssembly = true,
): Promise<readonly string[]> {
  const quire = await openTestQuire();
  onTestFinished(() => quire.close());
  await setUpTravelDesk(quire);
  await putCapsule(quire, "atlas", {}, 9);
  const request = { ...deskRequest, capsule: "atlas", model, render: format };
  const { turn } = await quire.ledger.beginTurn({ session: "desk", messages: [user("Plan the trip.")] });
  const turnId = turn!.id;
  const asked = { ...request, event: undefined, activeTurnId: turnId };
  const bodies: string[] = [];
  const ask = async () => {
    const { context } = await quire.assembly.buildContext({ context: asked });
    bodies.push(spoken(parsed(await renderedOf(quire, asked))));
    return namesAssembly ? { assemblyId: context!.assemblyId } : {};
  };
  for (const messages of steps.slice(0, -1))
    await quire.ledger.appendMessages({ turnId, messages: [...messages], ...(await ask()) });
  const result = { messages: [...steps.at(-1)!] };
  await quire.ledger.completeTurn({ turnId, result, ...(await ask()) });
  bodies.push(spoken(parsed(await renderedOf(quire, request))));
  return bodies;
}

/** The list of a body's messages, open at its end, without the marks of caches. */
function spoken(body: unknown): string {
  const { messages, input, contents } = body as Record<string, unknown>;
  const text = JSON.stringify(messages ?? input ?? contents, (key, value: unknown) =>
    key === "cache_control" || key === "prompt_cache_breakpoint" ? undefined : value,
  );
  return text.slice(0, -1);
}

describe.each(formats)("answers that go on without calls, as $name takes them", (format) => {
  test("each body begins with all of the one before", async () => {
    const bodies = await bodiesOf(format, [
      [assistant("First I look at the trains.")],
      [assistant("Then at the hotels.")],
      [toolCalls("c1"), toolResults("c1")],
      [assistant("There is a room.")],
      [assistant("And a train at six.")],
    ]);
    for (const [at, body] of bodies.entries())
      if (at > 0) expect(body.startsWith(bodies[at - 1]!)).toBe(true);
    for (const text of ["trains.", "hotels.", "room.", "at six."]) expect(bodies.at(-1)).toContain(text);
  });

  test("messages of one answer, or of writes that name no assembly, are not parted", async () => {
    const steps = [[assistant("First I look at the trains."), assistant("Then at the hotels.")]];
    for (const bodies of [
      await bodiesOf(format, steps),
      await bodiesOf(
        format,
        steps[0]!.map((message) => [message]),
        false,
      ),
    ])
      expect(bodies.at(-1)).not.toMatch(/trains\..*\[continue\].*hotels\./);
  });
});
