import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FloorKind } from "../../src/contract/gen/quire/v1/compaction.js";
import { Message, MessageRole, type Part } from "../../src/contract/gen/quire/v1/message.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { WarningKind } from "../../src/contract/gen/quire/v1/warning.js";
import { QuireError } from "../../src/index.js";
import { encodeBody, renderBody, validateBodyBytes } from "../../src/rendering/render.js";
import { call, imageOf, context as rendering, result, text, thinking } from "../rendering/contexts.js";
import { assistant, toolCalls, user } from "../support/messages.js";
import { contextRequest, exactModel, type PartialContext, putAgent } from "./agent.js";
import { checkBudget, checkFloors, checkPairs } from "./check-context.js";
import { openTestQuire, type TestQuire } from "./engine.js";
import { bytesOf, type FoldedContext, fold } from "./fold.js";
import { checkDelta, checkReplay, contextBytes } from "./keep-rules.js";
import { growSession } from "./long-session.js";
import { formats } from "./rendered-context.js";

let quire: TestQuire;
let sessions = 0;
beforeAll(async () => {
  quire = await openTestQuire();
  await putAgent(quire);
});
afterAll(() => quire?.close());

const says = (...parts: readonly Part[]) =>
  Message.create({ role: MessageRole.ASSISTANT, parts: [...parts] });
const answers = (...parts: readonly Part[]) => Message.create({ role: MessageRole.TOOL, parts: [...parts] });
const asks = (...parts: readonly Part[]) => Message.create({ role: MessageRole.USER, parts: [...parts] });

/** So many words, of about a token each. */
const words = (count: number) => "over hills and far away ".repeat(count / 5);
const large = 40_000;
const many = Array.from({ length: 500 }, (_, at) => `toolu_${"x".repeat(40)}_${at}`);

/** The newest turn of a session, in every shape that does not fit. */
const shapes: Readonly<Record<string, () => Message[]>> = {
  "a text": () => [user(words(large)), assistant("Read.")],
  "a text that nobody answered": () => [user(words(large))],
  "an answer": () => [user("Write."), assistant(words(large))],
  "a result": () => [user("Read."), toolCalls("a"), answers(result("a", words(large)))],
  "a result that was answered": () => [
    user("Read."),
    toolCalls("a"),
    answers(result("a", words(large))),
    assistant("Done."),
  ],
  "the arguments of a call": () => [
    user("Write."),
    says(text("I write."), call("a", "write", { path: "src/main.ts", content: words(large) }, "c2ln")),
    answers(result("a", "written")),
  ],
  "arguments that are no object": () => [
    user("Write."),
    says(call("a", "write", JSON.stringify([words(large)]))),
    answers(result("a", "written")),
  ],
  "a thought": () => [user("Think."), says(thinking("anthropic", words(large)), text("Done."))],
  "a thought in a loop": () => [
    user("Think."),
    says(thinking("anthropic", words(large)), call("a", "search", {})),
    answers(result("a", "found")),
  ],
  "500 parallel calls": () => [
    user("Look."),
    says(...many.map((id) => call(id, "search", { q: words(50) }))),
    answers(...many.map((id) => result(id, words(150)))),
  ],
  "images in a result": () => [
    user("Look."),
    toolCalls("a"),
    answers(result("a", words(large), imageOf("pixels", "image/png"), imageOf("pixels", "image/png"))),
  ],
  "an image and a text": () => [asks(imageOf("pixels", "image/png"), text(words(large))), assistant("Seen.")],
};

const gaveWay: readonly FloorKind[] = [FloorKind.NO_TURN_FITS, FloorKind.SUMMARY_LEFT_OUT];
const budgets = [1_000, 2_000, 4_000, 16_000, 64_000, 1_000_000];

async function sessionWith(
  turn: readonly Message[],
  isActive: boolean,
  status: TurnStatus = TurnStatus.COMPLETED,
) {
  const label = `floors-${++sessions}`;
  await quire.ledger.createSession({ label });
  const parentTurnId = await growSession(quire, label, [1, 12]);
  const request = { session: label, parentTurnId, messages: [...turn] };
  if (!isActive)
    return { label, newest: (await quire.ledger.recordTurn({ ...request, status })).turn!.id, active: "" };
  const { turn: begun } = await quire.ledger.beginTurn(request);
  return { label, newest: begun!.id, active: begun!.id };
}

async function assembled(context: PartialContext): Promise<FoldedContext> {
  const folded = await fold(quire.assembly.assemble({ context }));
  checkBudget(folded);
  checkPairs(folded.history);
  checkFloors(folded, 3);
  await checkReplay(quire, folded);
  return folded;
}

/** The context in every provider's words, looked at with its validator. */
function checkBodies({ system, tools, history, current }: FoldedContext): void {
  const messages = current ? [...history, current] : history;
  for (const { name: format, model } of formats) {
    const body = renderBody(format, rendering({ model, system: system.text, tools: tools.tools, messages }));
    expect(validateBodyBytes({ format, bytes: encodeBody(body) }), format).toEqual([]);
  }
}

function saidOf(folded: FoldedContext, turnId: string): string {
  return JSON.stringify(
    folded.history.filter((message) => message.turnId === turnId).map(({ parts }) => parts),
  );
}

describe.each(Object.keys(shapes))("%s that does not fit", (shape) => {
  test.each([
    { isActive: false, words: "of a finished turn" },
    { isActive: true, words: "of a turn that goes on" },
  ])("$words gives way and says so, from 1k to 1M: the summary and something of the turn are there", async ({
    isActive,
  }) => {
    const { label, newest, active } = await sessionWith(shapes[shape]!(), isActive);
    for (const maxContextTokens of budgets) {
      const { event, ...rest } = contextRequest(label, exactModel, {
        maxContextTokens,
        activeTurnId: active,
      });
      const context = isActive ? rest : { ...rest, event };
      const folded = await assembled(context);
      const { layer, completed } = folded;
      const said = `${shape} at ${maxContextTokens}: ${completed.floors.map(({ kind }) => kind)}`;
      checkBodies(folded);
      expect(saidOf(folded, newest), said).not.toBe("[]");
      expect(layer.droppedTurns, said).toBe(0);
      expect(layer.summarizedTurns > 0, said).toBe(layer.compactionId !== "");
      expect(
        completed.floors.filter(({ kind }) => gaveWay.includes(kind)),
        said,
      ).toEqual([]);
      if (maxContextTokens < large) {
        expect(layer.elisionCount + layer.splitMessageIndex, said).toBeGreaterThan(0);
        expect(layer.compactionId, said).not.toBe("");
      }
      if (maxContextTokens === 1_000_000) expect(layer.elisionCount, said).toBe(0);
    }
    if (active) await quire.ledger.completeTurn({ turnId: active, status: TurnStatus.FAILED });
  });
});

test("of arguments the short values stay, and what is left is an object", async () => {
  const { label, newest } = await sessionWith(shapes["the arguments of a call"]!(), false);
  const folded = await assembled(contextRequest(label, exactModel, { maxContextTokens: 4_000 }));
  const calls = folded.history
    .filter(({ turnId }) => turnId === newest)
    .flatMap(({ parts }) => parts)
    .flatMap(({ content }) => (content?.$case === "toolCall" ? [content.value] : []));
  expect(calls).toHaveLength(1);
  const { path, content } = JSON.parse(calls[0]!.argumentsJson) as Record<string, string>;
  expect(path).toBe("src/main.ts");
  expect(content).toMatch(
    /^over hills and [\s\S]*\[left out: \d+ tokens of the arguments of write\][\s\S]*away $/,
  );
  expect(calls[0]!.signature).toBe("c2ln");
});

test("what is open is never touched: it is what an error names", async () => {
  const open = call("a", "write", { content: words(2_000) });
  const turn = [user(words(large)), says(text(words(large)), open)];
  const { label } = await sessionWith(turn, false, TurnStatus.AWAITING);
  const context = contextRequest(label, exactModel);
  const roomy = await assembled({ ...context, maxContextTokens: 6_000 });
  expect(roomy.history.flatMap(({ parts }) => parts)).toContainEqual(open);
  checkBodies(roomy);
  const tight = fold(quire.assembly.assemble({ context: { ...context, maxContextTokens: 1_000 } }));
  const error = await tight.catch((reason: unknown) => reason as QuireError);
  expect(error).toBeInstanceOf(QuireError);
  expect((error as QuireError).reason).toBe("CONTEXT_TOO_LARGE");
  const named = Number((error as QuireError).metadata.open_calls);
  expect(named).toBeGreaterThan(2_000);
  expect(named).toBeLessThan(2_200);
});

test("a signed thought of a loop that goes on is as it was, or not there", async () => {
  const thought = thinking("anthropic", words(3_000));
  const turn = [user("Think."), says(thought, call("a", "search", {})), answers(result("a", words(large)))];
  const { label, active } = await sessionWith(turn, true);
  for (const maxContextTokens of [1_000, 2_000, 3_000, 6_000, 12_000]) {
    const { event: _, ...context } = contextRequest(label, exactModel, { activeTurnId: active });
    const folded = await assembled({ ...context, maxContextTokens });
    checkBodies(folded);
    const thoughts = folded.history
      .flatMap(({ parts }) => parts)
      .filter(({ content }) => content?.$case === "thinking");
    expect(thoughts).toEqual(maxContextTokens >= 6_000 ? [thought] : []);
    const calls = folded.history
      .flatMap(({ parts }) => parts)
      .filter(({ content }) => content?.$case === "toolCall");
    expect(calls.length).toBe(thoughts.length);
  }
});

test("where not even a mark fits, every turn gives way, then the summary, with a warning", async () => {
  const { label } = await sessionWith([user(words(large)), assistant("Read.")], false);
  const context = contextRequest(label, exactModel);
  const first = await assembled({ ...context, maxContextTokens: 2_000 });
  const { systemPrompt, tools, event } = first.completed.budget!.used!;
  for (const room of [0, 5, 12, 40, 60]) {
    const folded = await assembled({
      ...context,
      maxContextTokens: systemPrompt + tools + event + room,
      dryRun: false,
    });
    const gone = folded.completed.floors.filter(({ kind }) => gaveWay.includes(kind));
    const warned = folded.completed.warnings.filter(({ kind }) => kind === WarningKind.CONVERSATION_LEFT_OUT);
    expect(warned.length).toBe(gone.length);
    if (room <= 5) expect(folded.history).toEqual([]);
  }
});

describe("a session that names its assemblies", () => {
  test("keeps its marks from turn to turn while they fit, and a caller need not be sent them again", async () => {
    const { label, newest } = await sessionWith(
      [user("Look."), toolCalls("a", "b"), answers(result("a", words(4_000)), result("b", words(2_000)))],
      false,
    );
    let parentTurnId = newest;
    const budgetsSeen: number[] = [];
    let before: FoldedContext | undefined;
    let kept = 0;
    for (let round = 1; round <= 6; round++) {
      // An event that is larger by a fifth of the room and smaller again moves nothing.
      const extra = round % 2 === 0 ? words(400) : "";
      const request = contextRequest(label, exactModel, { maxContextTokens: 4_000 });
      const content = [text(`Go on ${extra}`)];
      const context = { ...request, event: { ...request.event, id: `event-${round}`, content } };
      const folded = await assembled(context);
      budgetsSeen.push(folded.completed.budget!.used!.total);
      expect(await contextBytes(quire, context)).toBe(await contextBytes(quire, context));
      if (before && folded.layer.cutId === before.layer.cutId) {
        kept++;
        const begin = folded.history.slice(0, before.history.length);
        expect(bytesOf(begin)).toBe(bytesOf(before.history));
        await checkDelta(quire, context, before);
      }
      const recorded = await quire.ledger.recordTurn({
        session: label,
        parentTurnId,
        assemblyId: folded.completed.assemblyId!,
        messages: [user(`Go on ${extra}`), assistant(`Step ${round}.`)],
      });
      parentTurnId = recorded.turn!.id;
      before = folded;
    }
    expect(kept).toBeGreaterThanOrEqual(4);
    expect(Math.max(...budgetsSeen)).toBeLessThanOrEqual(4_000);
  });
});
