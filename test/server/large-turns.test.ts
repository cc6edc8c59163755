import { Client, credentials } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import {
  AssembleRequest,
  AssembleResponse,
  AssemblyServiceService,
} from "../../src/contract/gen/quire/v1/assembly_service.js";
import { StreamHistoryResponse } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { overGrpc } from "../assembly/over-grpc.js";
import { startTestServer } from "../support/server.js";
import { rawBatches, rawResponses } from "./raw-history.js";

const batchBytes = 64 * 1024;

/** A provider's own data, whose tokens are not counted, in a message of about so many bytes. */
function opaque(index: number, bytes: number): Message {
  const data = Buffer.alloc(bytes, index);
  return Message.create({
    role: index % 2 === 0 ? MessageRole.USER : MessageRole.ASSISTANT,
    parts: [{ content: { $case: "opaque", value: { provider: "openai", kind: "reasoning", data } } }],
  });
}

test("a client with default limits reads a turn of 20 MB, through Assemble and StreamHistory, in the same batches", async () => {
  const server = await startTestServer();
  onTestFinished(() => server.stop());
  const quire = overGrpc(server.address);
  onTestFinished(() => quire.close());
  await quire.capsules.putCapsule({
    name: "atlas",
    body: { persona: { corePrompt: "You are Atlas.", model: { model: "gpt-4o" } } },
  });
  await quire.ledger.createSession({ label: "heavy" });
  // One row of storage: many messages of a third of a batch, and one that is larger than a batch.
  const messages = Array.from({ length: 1_000 }, (_, index) =>
    opaque(index, index === 500 ? 200_000 : 20_000),
  );
  await quire.ledger.recordTurn({ session: "heavy", messages });

  // A client that takes 4 MB at most, as clients do by default.
  const client = new Client(server.address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const streamed = await rawBatches(client, { thread: { $case: "session", value: "heavy" } });
  const event = { content: [{ content: { $case: "text", value: { text: "Well?" } } }] } as const;
  const context = { session: "heavy", capsule: "atlas", event };
  const { path, requestSerialize } = AssemblyServiceService.assemble;
  const request = requestSerialize(AssembleRequest.fromPartial({ context }));
  const assembled = await rawResponses(client, path, request);

  const ofStream = streamed.map((bytes) => ({ bytes, found: StreamHistoryResponse.decode(bytes).messages }));
  const ofAssemble = assembled.flatMap((bytes) => {
    const { event: read } = AssembleResponse.decode(bytes);
    return read?.$case === "history" ? [{ bytes, found: read.value.messages }] : [];
  });
  for (const batches of [ofStream, ofAssemble]) {
    const indexes = batches.flatMap(({ found }) => found.map(({ index }) => index));
    expect(indexes).toEqual(messages.map((_, index) => index));
    for (const { bytes, found } of batches) {
      if (bytes.length > batchBytes + 16) expect(found.map(({ index }) => index)).toEqual([500]);
    }
    expect(batches.filter(({ bytes }) => bytes.length > batchBytes + 16)).toHaveLength(1);
    // Batches are filled: three of these messages go into each.
    expect(batches.length).toBeLessThan(messages.length / 3 + 10);
  }
});
