import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { ClientReadableStream } from "@grpc/grpc-js";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  AssembleRequest,
  type AssembleResponse,
  AssemblyServiceService,
} from "../../src/contract/gen/quire/v1/assembly_service.js";
import { CapturedLog } from "../server/captured-log.js";
import { assistant, user } from "../support/messages.js";
import { failure } from "../support/server.js";
import { fold } from "./fold.js";
import { holdReads, type ServedDesk, serveDesk } from "./served-desk.js";
import { deskRequest } from "./travel-desk.js";

const context = { ...deskRequest, capsule: "atlas" };

function assembleOn({ quire }: ServedDesk, more: object = {}): ClientReadableStream<AssembleResponse> {
  return quire.assembly.assemble({
    context: { ...context, ...more },
  }) as unknown as ClientReadableStream<AssembleResponse>;
}

/** A call of which nobody reads a byte. The library's client would read ahead, and hold what it read in this very process. */
function assembleUnread(session: ClientHttp2Session, more: object): ClientHttp2Stream {
  const { path, requestSerialize } = AssemblyServiceService.assemble;
  const body = requestSerialize(AssembleRequest.fromPartial({ context: { ...context, ...more } }));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  const headers = { ":path": path, ":method": "POST", "content-type": "application/grpc", te: "trailers" };
  const stream = session.request(headers);
  stream.on("error", () => undefined);
  stream.end(Buffer.concat([head, body]));
  return stream;
}

/** Adds turns to the session, of about a megabyte each unless another size is given. */
async function addTurns({ quire }: ServedDesk, count: number, words = 200_000): Promise<void> {
  let parentTurnId = (await quire.ledger.getSession({ session: "desk" })).session!.headTurnId;
  for (let left = count; left > 0; left--) {
    const messages = [user("word ".repeat(words)), assistant("Yes.")];
    parentTurnId = (await quire.ledger.recordTurn({ session: "desk", parentTurnId, messages })).turn!.id;
  }
}

const wideWindow = { settings: { modelLimits: [{ model: "gpt-4o", maxTokens: 90_000_000 }] } };

setFlagsFromString("--expose-gc");
/** What is measured is what is held, and not what is yet to be collected. */
const collectGarbage = runInNewContext("gc") as () => void;

describe("Assemble over the wire", () => {
  test("sends its events in order: resolved, tools, system, history, current message, completed", async () => {
    const cases: string[] = [];
    for await (const { event } of assembleOn(await serveDesk())) cases.push(event!.$case);
    expect(cases).toEqual(["resolved", "tools", "system", "history", "currentMessage", "completed"]);
  });

  test("sends history in batches, the layer in the first one only", async () => {
    const desk = await serveDesk();
    await addTurns(desk, 3);
    const batches: boolean[] = [];
    for await (const { event } of assembleOn(desk, wideWindow)) {
      if (event?.$case === "history") batches.push(event.value.layer !== undefined);
    }
    expect(batches.length).toBeGreaterThan(2);
    expect(batches).toEqual(batches.map((_, index) => index === 0));
  });

  test("sends the system prompt while history is still being read", async () => {
    const desk = await serveDesk();
    const reads = holdReads(desk.engine);
    const cases: string[] = [];
    for await (const { event } of assembleOn(desk)) {
      cases.push(event!.$case);
      if (event?.$case === "system") {
        while (reads.count() === 0) await sleep(1);
        expect(cases).toEqual(["resolved", "tools", "system"]);
        reads.release();
      }
    }
    expect(cases.at(-1)).toBe("completed");
  });

  test("stops the work when the caller cancels: no further reads, no receipt", async () => {
    const log = new CapturedLog();
    const desk = await serveDesk({ historyCacheBytes: 0 }, log.logger);
    await addTurns(desk, 70, 1);
    const reads = holdReads(desk.engine);
    const stream = assembleOn(desk, wideWindow);
    let assemblyId = "";
    stream.on("data", ({ event }: AssembleResponse) => {
      if (event?.$case === "resolved") assemblyId = event.value.assemblyId;
      if (event?.$case === "system") stream.cancel();
    });
    await new Promise((resolve) => stream.on("error", resolve));
    while (reads.count() === 0) await sleep(1);
    // The first read is held up until the server has heard of it: one connection brings everything in its order.
    await failure(desk.quire.assembly.getReceipt({ assemblyId: assemblyId }));
    reads.release();
    await log.find(({ method }) => method === "Assemble");
    expect(reads.count()).toBe(1);
    await desk.engine.assembly.receipts.flush();
    expect(await failure(desk.quire.assembly.getReceipt({ assemblyId: assemblyId }))).toMatchObject({
      reason: "RECEIPT_NOT_FOUND",
    });
  });

  test("holds little in memory for readers that are slow", async () => {
    const desk = await serveDesk();
    await addTurns(desk, 20);
    await fold(assembleOn(desk, wideWindow));
    const used = () => {
      collectGarbage();
      return process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    };
    const before = used();
    const session = connect(`http://${desk.address}`);
    onTestFinished(() => session.destroy());
    const streams = Array.from({ length: 20 }, () => assembleUnread(session, wideWindow));
    await Promise.all(streams.map((stream) => once(stream, "response")));
    await sleep(1_000);
    // All that they have yet to read is 400 MB. What is held stays held; buffers that are only yet to be freed go.
    await expect.poll(() => used() - before, { interval: 200 }).toBeLessThan(120_000_000);
    expect(streams.some((stream) => stream.readableEnded)).toBe(false);
  });

  test("writes nothing in a dry run", async () => {
    const desk = await serveDesk();
    const { completed, resolved } = await fold(assembleOn(desk, { dryRun: true }));
    expect(completed.assemblyId).toBeUndefined();
    expect(await failure(desk.quire.assembly.getReceipt({ assemblyId: resolved.assemblyId }))).toMatchObject({
      reason: "RECEIPT_NOT_FOUND",
    });
    await desk.engine.assembly.receipts.flush();
    expect(await desk.engine.database.reader.receipt.count()).toBe(0);
    expect(await desk.engine.database.reader.receiptBlob.count()).toBe(0);
  });

  test("gives, folded, what BuildContext gives", async () => {
    const desk = await serveDesk();
    const folded = await fold(assembleOn(desk));
    const { context: built } = await desk.quire.assembly.buildContext({ context });
    expect(built).toMatchObject({
      history: folded.history,
      systemPrompt: folded.system.text,
      sections: folded.system.sections,
      tools: folded.tools.tools,
      historyLayer: folded.layer,
      model: folded.resolved.model,
      provider: folded.resolved.provider,
      modelConfig: folded.resolved.modelConfig,
      parentTurnId: folded.resolved.parentTurnId,
      sessionLabel: "desk",
      toolset: "travel",
      permissionsGranted: ["booking.read"],
      sourceEventId: "event-7",
      workspacePath: "/srv/desk",
      capsule: "atlas",
      capsuleVersion: 1,
    });
    expect(built!.currentMessage!.parts).toEqual(folded.current!.parts);
    expect(built!.tokenBudget!.used).toMatchObject({ history: folded.layer.tokens });
    expect(built!.hashes!.system).toEqual(folded.completed.hashes!.system);
    expect(built!.hashes!.history).toEqual(folded.completed.hashes!.history);
  });
});
