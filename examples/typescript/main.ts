// One agent with Quire, from its definition to its second turn: node gen/build/main.js [address]
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { credentials, status } from "@grpc/grpc-js";
import { fold } from "./fold.js";
import {
  AssembleRequest,
  AssemblyServiceClient,
  BuildContextRequest,
  ContextRequest,
} from "./gen/quire/v1/assembly_service.js";
import { CapsuleServiceClient, PutCapsuleRequest } from "./gen/quire/v1/capsule_service.js";
import {
  CreateSessionRequest,
  GetTurnRequest,
  LedgerServiceClient,
  RecordTurnRequest,
  WatchSessionRequest,
} from "./gen/quire/v1/ledger_service.js";
import { MessageRole } from "./gen/quire/v1/message.js";
import { EventSource } from "./gen/quire/v1/origin.js";
import { BodyFormat } from "./gen/quire/v1/rendering.js";
import { says, text } from "./messages.js";
import { failure, reasonAndFields, unary } from "./unary.js";

const { USER } = MessageRole;
const address = process.argv[2] ?? process.env.QUIRE_ADDRESS ?? "127.0.0.1:50051";
const capsules = new CapsuleServiceClient(address, credentials.createInsecure());
const ledger = new LedgerServiceClient(address, credentials.createInsecure());
const assembly = new AssemblyServiceClient(address, credentials.createInsecure());
const label = `typescript-${randomUUID()}`;

// Who the agent is. A write with a request id happens once, however often it is sent.
const persona = {
  corePrompt: "You are Atlas. You find orders.",
  model: { model: "gpt-5", provider: "openai" },
};
const put = PutCapsuleRequest.create({ requestId: randomUUID(), name: label, body: { persona } });
await unary(capsules, capsules.putCapsule, put);
await unary(ledger, ledger.createSession, CreateSessionRequest.create({ label }));

/** What a model answered, as its provider gives it. In an engine it is the body of the HTTP response. */
const answered = (message: object) => ({
  format: BodyFormat.OPENAI_CHAT,
  body: Buffer.from(JSON.stringify({ choices: [{ message }] })),
});

// A turn: what came in, and what the model answered. It calls a tool, so the turn waits for the result.
const find = { id: "call_1", type: "function", function: { name: "find_order", arguments: '{"user": 42}' } };
const asked = await unary(
  ledger,
  ledger.recordTurn,
  RecordTurnRequest.create({
    requestId: randomUUID(),
    session: label,
    messages: [says(USER, text("Where is my order?"))],
    response: answered({ role: "assistant", content: null, tool_calls: [find] }),
  }),
);
const toolResults = asked.answer!.toolCalls.map(({ callId, name }) => ({ callId, text: `${name}: shipped` }));
const first = await unary(
  ledger,
  ledger.recordTurn,
  RecordTurnRequest.create({
    requestId: randomUUID(),
    session: label,
    parentTurnId: asked.headTurnId,
    toolResults,
    response: answered({ role: "assistant", content: "It was shipped this morning." }),
  }),
);
assert.equal(first.answer?.text, "It was shipped this morning.");

// What should the model see now? Layer by layer, or the same at once.
const question = text("When will it be here?");
const event = { source: EventSource.HUMAN, content: [question], timezone: "Europe/Vienna" };
const tools = [{ name: "find_order", description: "Finds an order.", inputSchemaJson: '{"type": "object"}' }];
const request = ContextRequest.create({ session: label, capsule: label, event, tools });
const deadline = Date.now() + 10_000;
const folded = await fold(assembly.assemble(AssembleRequest.create({ context: request }), { deadline }));
const { context: built } = await unary(
  assembly,
  assembly.buildContext,
  BuildContextRequest.create({ context: request }),
);
assert.equal(folded.parentTurnId, first.headTurnId);
assert.equal(folded.systemPrompt, built?.systemPrompt);
assert.equal(folded.tools.length, 1);
assert.deepEqual(folded.tools, built?.tools);
assert.equal(folded.history.length, 4);
assert.deepEqual(folded.history, built?.history);
// The time is in `contextParts`, and has moved on between the two calls. The event's own content is untouched.
assert.deepEqual(folded.currentMessage?.parts, [question]);
assert.deepEqual(built?.currentMessage?.parts, [question]);

// The turn that answers it. With its assembly id, what was sent before the user's words is kept with them.
const second = await unary(
  ledger,
  ledger.recordTurn,
  RecordTurnRequest.create({
    requestId: randomUUID(),
    session: label,
    assemblyId: folded.assemblyId,
    messages: [says(USER, question)],
    response: answered({ role: "assistant", content: "On Thursday." }),
  }),
);
const kept = await unary(ledger, ledger.getTurn, GetTurnRequest.create({ turnId: second.turn?.id ?? "" }));
assert(kept.found?.$case === "recorded");
assert.deepEqual(kept.found.value.result?.messages[0]?.contextParts, folded.currentMessage?.contextParts);
console.log(`recorded   turn ${second.turn?.depth}, with the context that was sent`);

// An error says what is wrong, and where. Nothing was written.
const orphan = RecordTurnRequest.create({
  session: label,
  parentTurnId: second.headTurnId,
  toolResults: [{ callId: "call_9", text: "?" }],
});
const refused = await failure(unary(ledger, ledger.recordTurn, orphan));
const { reason, fields } = reasonAndFields(refused);
assert.equal(refused.code, status.INVALID_ARGUMENT);
assert.equal(reason, "ORPHAN_TOOL_RESULT");
assert.deepEqual(fields, ["tool_results[0].call_id"]);
console.log("refused   ", reason, fields);

// A watch has no end of its own: it lasts until its deadline.
const watch = ledger.watchSession(WatchSessionRequest.create({ session: label }), {
  deadline: Date.now() + 100,
});
const late = await failure(watch.toArray());
assert.equal(late.code, status.DEADLINE_EXCEEDED);
console.log("deadline  ", status[late.code]);

for (const client of [capsules, ledger, assembly]) client.close();
