import { join } from "node:path";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AssembledContext } from "../../src/contract/gen/quire/v1/assembly.js";
import * as wire from "../../src/contract/gen/quire/v1/assembly_service.js";
import { createQuire, type Quire } from "../../src/index.js";
import { change } from "../assembly/change.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { collected, contextOf, seed } from "./quire-fixture.js";

let server: TestServer;
let quire: Quire;
let client: wire.AssemblyServiceClient;

beforeAll(async () => {
  server = await startTestServer({ primeFile: "" });
  quire = await createQuire({
    database: `file:${join(server.folder, "quire.db")}`,
    primeFile: "",
    logLevel: "silent",
  });
  client = new wire.AssemblyServiceClient(server.address, credentials.createInsecure());
  await seed(quire, "atlas", 30);
});

afterAll(async () => {
  client.close();
  await quire.close();
  await server.stop();
});

type Answer = { readonly context: AssembledContext | undefined };

const served = (request: wire.BuildContextRequest) =>
  new Promise<AssembledContext>((resolve, reject) => {
    client.buildContext(request, (error: ServiceError | null, answer: Answer) =>
      error ? reject(error) : resolve(answer.context!),
    );
  });

const servedReplay = (assemblyId: string) =>
  new Promise<AssembledContext>((resolve, reject) => {
    client.replayContext(
      wire.ReplayContextRequest.create({ assemblyId }),
      (error: ServiceError | null, answer: Answer) => (error ? reject(error) : resolve(answer.context!)),
    );
  });

/** A context without what each assembly has of its own: its id, and the time in the current message. */
function withoutTheMoment(context: AssembledContext) {
  const { assemblyId: _, currentMessage, hashes, ...rest } = context;
  const { current: _current, whole: _whole, ...layers } = hashes!;
  return { ...rest, layers, parts: currentMessage?.parts };
}

test("in process: a context equals the served one on the same database", async () => {
  const { context } = await quire.assembly.buildContext(contextOf("atlas"));
  expect(context?.history).toHaveLength(60);
  const overTheWire = await served(wire.BuildContextRequest.create(contextOf("atlas")));
  expect(withoutTheMoment(context!)).toEqual(withoutTheMoment(overTheWire));
});

test("in process: a replay equals the served context, and a served replay the one made here", async () => {
  const overTheWire = await served(wire.BuildContextRequest.create(contextOf("atlas")));
  expect(await quire.assembly.replayContext({ assemblyId: overTheWire.assemblyId })).toEqual({
    context: overTheWire,
  });

  const { context } = await quire.assembly.buildContext(contextOf("atlas"));
  expect(await servedReplay(context!.assemblyId)).toEqual(context);
});

test("in process: the stream has the events of the contract in order, with the whole history in messages", async () => {
  const responses = await collected(quire.assembly.assemble(contextOf("atlas")));
  const kinds = responses.map(({ event }) => event?.$case);
  expect(kinds).toEqual(["resolved", "tools", "system", "history", "currentMessage", "completed"]);
  const history = responses.flatMap(({ event }) => (event?.$case === "history" ? event.value.messages : []));
  const { context } = await quire.assembly.buildContext(contextOf("atlas"));
  expect(history).toEqual(context?.history);
  const batches = await collected(
    quire.ledger.streamHistory({ thread: { $case: "session", value: "atlas" } }),
  );
  expect(batches.flatMap(({ messages }) => messages)).toEqual(history);
});

test("in process: receipts are compared and tokens counted", async () => {
  const [first, second] = [
    await quire.assembly.buildContext(contextOf("atlas")),
    await quire.assembly.buildContext({
      context: { ...contextOf("atlas").context, baseInstructions: "You are Nemo." },
    }),
  ];
  const assemblyId = second.context!.assemblyId;
  expect((await quire.assembly.getReceipt({ assemblyId })).receipt?.assemblyId).toBe(assemblyId);
  const compared = await quire.assembly.compareReceipts({
    firstAssemblyId: first.context!.assemblyId,
    secondAssemblyId: assemblyId,
  });
  expect(compared).toMatchObject({
    equal: false,
    layer: wire.ContextLayer.SYSTEM,
    cause: change("SECTION", "persona"),
  });
  expect((await quire.assembly.countTokens({ texts: ["hello world"] })).tokens).toEqual([2]);
});
