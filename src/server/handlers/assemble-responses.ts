import { assemble } from "../../assembly/assemble.js";
import { resolvedMessage } from "../../assembly/body/context-message.js";
import type { AssemblyDeps } from "../../assembly/deps.js";
import type { HistoryStage } from "../../assembly/history/history.js";
import { SystemLayer, ToolsLayer } from "../../contract/gen/quire/v1/assembly.js";
import {
  type AssembleResponse,
  type ContextRequest,
  HistoryBatch,
} from "../../contract/gen/quire/v1/assembly_service.js";
import type { RenderedBody } from "../../contract/gen/quire/v1/rendering.js";
import { wireBytes } from "../../domain/wire-bytes.js";
import { HistoryBatcher } from "../../thread/history-batcher.js";
import type { CallContext } from "../call/call-context.js";
import type { EncodedResponse } from "../encoded-response.js";
import { nested } from "../wire-pieces.js";
import { compactionEvent } from "./compaction-event.js";

const toolsField = 2;
const systemField = 3;
const historyField = 5;
/** Of a SystemLayer. */
const textField = 1;
const nothing = Buffer.alloc(0);
/** A body comes in pieces of this size. */
const chunkBytes = 64 * 1024;

type Response = AssembleResponse | EncodedResponse;

/** The events of an assembly as the contract has them, each as soon as it is there. */
export async function* assembleResponses(
  assembly: AssemblyDeps,
  request: ContextRequest,
  { tenantId, ...limits }: CallContext,
): AsyncGenerator<Response> {
  const { have } = request;
  let toolset = "";
  for await (const event of assemble(assembly, tenantId, request, limits)) {
    switch (event.kind) {
      case "resolved":
        toolset = event.resolved.request.toolset;
        yield { event: { $case: "resolved", value: resolvedMessage(event.resolved, event.plan) } };
        break;
      case "tools": {
        const { wire, hash, tokens } = event.tools;
        const reused = have?.toolsHash.equals(hash) ?? false;
        const rest = wireBytes(ToolsLayer, { tools: [], hash, tokens, reused, toolset });
        yield nested(toolsField, reused ? [rest] : [wire, rest]);
        break;
      }
      case "system": {
        const { bytes, hash, tokens, sections, lead } = event.system;
        const reused = have?.systemHash.equals(hash) ?? false;
        const leadMessages = reused ? [] : [...lead.messages];
        const layer = { text: "", sections: [...sections], hash, tokens, reused, leadMessages };
        const rest = wireBytes(SystemLayer, layer);
        const text = reused || bytes.length === 0 ? [] : nested(textField, [bytes]);
        yield nested(systemField, [...text, rest]);
        break;
      }
      case "compaction":
        yield {
          event: {
            $case: "compaction",
            value: { event: compactionEvent(assembly.compaction, tenantId, event.notice) },
          },
        };
        break;
      case "history":
        yield* historyBatches(event.history, request.bodyOnly);
        break;
      case "source":
        yield { event: { $case: "source", value: event.report } };
        break;
      case "current": {
        const { message, hash, tokens, truncated } = event.current;
        yield { event: { $case: "currentMessage", value: { message, hash, tokens, truncated } } };
        break;
      }
      case "rendered":
        yield* bodyChunks(event.rendered);
        break;
      case "completed": {
        const { budget, hashes, warnings, floors } = event.use;
        const assemblyId = request.dryRun ? undefined : event.context.assemblyId;
        const value = {
          budget,
          hashes,
          assemblyId,
          warnings: [...warnings],
          floors: [...floors],
          cachePlan: event.cache.plan,
          prefix: event.cache.prefix,
        };
        yield { event: { $case: "completed", value } };
      }
    }
  }
}

function* bodyChunks(rendered: RenderedBody): Generator<Response> {
  const { body } = rendered;
  for (let at = 0; at === 0 || at < body.length; at += chunkBytes) {
    const isLast = at + chunkBytes >= body.length;
    const about = isLast ? { ...rendered, body: nothing } : undefined;
    const value = { data: body.subarray(at, at + chunkBytes), about };
    yield { event: { $case: "rendered", value } };
  }
}

/** The history in batches: the stored bytes, with the layer's description before them. */
function* historyBatches(history: HistoryStage, isBodyOnly: boolean): Generator<EncodedResponse> {
  const batcher = new HistoryBatcher(wireBytes(HistoryBatch, { messages: [], layer: history.layer }));
  for (const piece of isBodyOnly ? [] : history.pieces())
    for (const batch of batcher.add(piece)) yield nested(historyField, batch);
  for (const batch of batcher.rest()) yield nested(historyField, batch);
}
