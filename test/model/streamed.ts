import * as wire from "../../src/contract/gen/quire/v1/ledger_service.js";
import { Message } from "../../src/contract/gen/quire/v1/message.js";
import { chainHash, sha256 } from "../../src/domain/hash.js";

/** A history as StreamHistory gave it. */
export interface Streamed {
  readonly thread: wire.ThreadSummary;
  readonly messages: readonly Message[];
}

export async function streamHistory(
  ledger: wire.LedgerServiceClient,
  session: string,
  afterTurnId = "",
): Promise<Streamed> {
  const request = wire.StreamHistoryRequest.create({
    thread: { $case: "session", value: session },
    afterTurnId,
  });
  const messages: Message[] = [];
  let thread = wire.ThreadSummary.create();
  for await (const batch of ledger.streamHistory(request) as AsyncIterable<wire.StreamHistoryResponse>) {
    messages.push(...batch.messages);
    thread = batch.thread ?? thread;
  }
  return { thread, messages };
}

/** Every turn from the first on, whole, and their hashes chained are the thread's. */
export function checkStreamed({ thread, messages }: Streamed): string[] {
  const turns = groupByTurn(messages);
  const faults: string[] = [];
  if (turns.size !== thread.streamedTurns)
    faults.push(`streams ${turns.size} of ${thread.streamedTurns} turns`);
  let chain: Buffer | undefined;
  for (const [turnId, own] of turns) {
    if (own.some((message, index) => message.index !== index))
      faults.push(`turn ${turnId} is streamed in part`);
    chain = chainHash(chain, contentHash(own));
  }
  const last = messages.at(-1)?.turnId ?? "";
  if (last !== thread.headTurnId)
    faults.push(`the stream ends with ${last}, not with the head ${thread.headTurnId}`);
  if (!thread.chainHash.equals(chain ?? Buffer.alloc(0)))
    faults.push("the streamed bytes have another chain hash");
  return faults;
}

/** The hash of messages as they are stored: as fields of a StreamHistoryResponse. */
export function contentHash(messages: readonly Message[]): Buffer {
  return sha256(wire.StreamHistoryResponse.encode({ messages: [...messages], thread: undefined }).finish());
}

export function groupByTurn(messages: readonly Message[]): Map<string, Message[]> {
  const groups = new Map<string, Message[]>();
  for (const message of messages) {
    const group = groups.get(message.turnId);
    if (group) group.push(message);
    else groups.set(message.turnId, [message]);
  }
  return groups;
}

/** What the caller gave of a message, without what the server added. */
export function contentOf(message: Message): Buffer {
  const { role, parts, contextParts, contextJson } = message;
  return Buffer.from(Message.encode(Message.create({ role, parts, contextParts, contextJson })).finish());
}
