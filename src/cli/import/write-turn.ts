import { setTimeout as sleep } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import { OnHeadMoved } from "../../contract/gen/quire/v1/ledger_service.js";
import { Message } from "../../contract/gen/quire/v1/message.js";
import { AgentResult } from "../../contract/gen/quire/v1/turn.js";
import { mostItems } from "../../transcripts/import/bounds.js";
import type { PlannedTurn } from "../../transcripts/import/transcript.js";
import { CallError } from "../client/call-error.js";
import type { Ledger } from "../client/quire-client.js";

const bytesPerCall = 8 * 1024 * 1024;
const tries = 5;

/** Where a turn goes. */
export interface TurnPlace {
  readonly session: string;
  readonly parentTurnId: string;
  readonly requestId: string;
}

/** Writes a turn and gives its id: in one call, or, when that would be too large, step by step. */
export async function writeTurn(ledger: Ledger, turn: PlannedTurn, place: TurnPlace): Promise<string> {
  const batches = batched(turn.messages);
  const result = AgentResult.fromPartial(turn.result);
  const { details, status: end, abandonOpenItems } = turn;
  const common = { ...place, onHeadMoved: OnHeadMoved.FAIL, details, abandonOpenItems, assemblyId: "" };
  if (batches.length <= 1) {
    const request = { ...common, messages: turn.messages, result, status: end };
    return (await retrying(() => ledger.recordTurn(request))).turn?.id ?? "";
  }
  const begun = await retrying(() => ledger.beginTurn({ ...common, messages: [] }));
  const turnId = begun.turn?.id ?? "";
  for (const [index, messages] of batches.entries()) {
    const requestId = `${place.requestId}-${index}`;
    await retrying(() =>
      ledger.appendMessages({
        requestId,
        turnId,
        messages,
        expectedMessageCount: undefined,
        usage: undefined,
      }),
    );
  }
  const { requestId } = place;
  const request = { requestId, turnId, status: end, result, onHeadMoved: OnHeadMoved.FAIL };
  await retrying(() => ledger.completeTurn(request));
  return turnId;
}

function batched(messages: readonly Message[]): readonly (readonly Message[])[] {
  const batches: Message[][] = [[]];
  let bytes = 0;
  for (const message of messages) {
    const size = Message.encode(message).finish().length;
    const current = batches.at(-1) ?? [];
    if (
      current.length >= mostItems("AppendMessagesRequest.messages") ||
      (current.length > 0 && bytes + size > bytesPerCall)
    ) {
      batches.push([message]);
      bytes = size;
    } else {
      current.push(message);
      bytes += size;
    }
  }
  return batches;
}

/** Tries again while the server is away for a moment; request ids make that safe. */
export async function retrying<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      const passing = error instanceof CallError && error.code === status.UNAVAILABLE;
      if (!passing || attempt === tries) throw error;
      await sleep(Math.max(error.retryAfterMs ?? 0, 100 * 2 ** attempt));
    }
  }
}
