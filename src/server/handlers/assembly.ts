import { assemble } from "../../assembly/assemble.js";
import { type BuiltContext, buildContext, contextPieces } from "../../assembly/build-context.js";
import { cacheReport } from "../../assembly/cache-report.js";
import type { CompactionNotice } from "../../assembly/compact-history.js";
import { reportOverflow } from "../../assembly/compaction/report-overflow.js";
import { compareReceipts } from "../../assembly/compare.js";
import { resolvedMessage } from "../../assembly/context-message.js";
import { countTexts } from "../../assembly/count-texts.js";
import type { AssemblyDeps } from "../../assembly/deps.js";
import type { HistoryStage } from "../../assembly/history.js";
import { listModels } from "../../assembly/list-models.js";
import { formatName, renderContext } from "../../assembly/render-context.js";
import { findReceipt, replayContext } from "../../assembly/replay.js";
import { validateBody } from "../../assembly/validate-body.js";
import { Receipt } from "../../contract/gen/quire/v1/assembly.js";
import * as wire from "../../contract/gen/quire/v1/assembly_service.js";
import type { CompactionEvent } from "../../contract/gen/quire/v1/compaction.js";
import { RenderedBody } from "../../contract/gen/quire/v1/rendering.js";
import { HistoryBatcher } from "../../ledger/history-batcher.js";
import { viewCompaction } from "../../ledger/view-compaction.js";
import type { CallContext } from "../call.js";
import { type EncodedResponse, method } from "../method.js";
import { type RpcsOf, rpc, streamRpc } from "../rpc.js";
import * as validation from "../validation/assembly.js";
import { nested } from "../wire-pieces.js";
import { writeKey } from "../write-key.js";

const defaultPageSize = 50;
const defaultTurns = 20;
const historyField = 5;
const contextField = 1;
const renderedField = 2;
const nothing = Buffer.alloc(0);
/** A body comes in pieces of this size. */
const chunkBytes = 64 * 1024;

/** AssemblyService: each RPC is its validation and one command of the assembly. */
export function assemblyHandlers(assembly: AssemblyDeps): RpcsOf<wire.AssemblyServiceServer> {
  return {
    assemble: streamRpc<wire.AssembleRequest, wire.AssembleResponse>(
      "Assemble",
      validation.validateAssemble,
      (request, context) => assembleResponses(assembly, request.context!, context),
    ),
    buildContext: rpc<wire.BuildContextRequest, wire.BuildContextResponse>(
      "BuildContext",
      validation.validateBuildContext,
      async (request, { tenantId, ...limits }) => {
        const built = await buildContext(
          assembly,
          tenantId,
          request.context!,
          limits,
          request.includeCandidates,
        );
        return withBody(built);
      },
    ),
    reportOverflow: rpc(
      "ReportOverflow",
      validation.validateReportOverflow,
      (request, { tenantId, ...limits }) => {
        const key = writeKey(
          tenantId,
          "ReportOverflow",
          request,
          wire.ReportOverflowRequest,
          wire.ReportOverflowResponse,
        );
        return reportOverflow(assembly, key, request.assemblyId!, limits);
      },
    ),
    getReceipt: rpc<wire.GetReceiptRequest, wire.GetReceiptResponse>(
      "GetReceipt",
      validation.validateGetReceipt,
      async (request, { tenantId }) => {
        const stored = await findReceipt(assembly, tenantId, request.assemblyId!);
        return { receipt: Receipt.decode(stored.wire) };
      },
    ),
    compareReceipts: rpc("CompareReceipts", validation.validateCompareReceipts, (request, { tenantId }) =>
      compareReceipts(assembly, tenantId, request.firstAssemblyId!, request.secondAssemblyId!),
    ),
    replayContext: rpc<wire.ReplayContextRequest, wire.ReplayContextResponse>(
      "ReplayContext",
      validation.validateReplayContext,
      async (request, { tenantId, signal }) => {
        const replayed = await replayContext(assembly, tenantId, request.assemblyId!);
        const { rest, history, receipt } = replayed;
        const { cachePlan, sessionId } = receipt;
        const sent = { history, cachePlan, sessionId, texts: replayed.texts };
        return withBody({
          ...replayed,
          rendered: await renderContext(assembly, rest, sent, request.render, signal),
        });
      },
    ),
    validateBody: rpc("ValidateBody", validation.validateValidateBody, async (request, { signal }) => ({
      problems: await validateBody(assembly.offload, formatName(request.format)!, request.body, signal),
    })),
    listModels: rpc("ListModels", validation.validateListModels, (request, { tenantId }) =>
      listModels(assembly, tenantId, { ...request, pageSize: request.pageSize || defaultPageSize }),
    ),
    getCacheReport: rpc("GetCacheReport", validation.validateGetCacheReport, (request, { tenantId }) =>
      cacheReport(assembly, tenantId, request.session, request.turns || defaultTurns),
    ),
    countTokens: rpc("CountTokens", validation.validateCountTokens, (request, { signal }) =>
      countTexts(assembly, request.texts, request.model, signal),
    ),
  };
}

/** A whole context and its body, in wire form: both answers that hold them have them in the same fields. */
function withBody(built: BuiltContext): EncodedResponse {
  const context = nested(contextField, contextPieces(built));
  if (!built.rendered) return context;
  return [...context, ...nested(renderedField, [Buffer.from(RenderedBody.encode(built.rendered).finish())])];
}

type Response = wire.AssembleResponse | EncodedResponse;

async function* assembleResponses(
  assembly: AssemblyDeps,
  request: wire.ContextRequest,
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
        const { tools, hash, tokens } = event.tools;
        const reused = have?.toolsHash.equals(hash) ?? false;
        const sent = reused ? [] : tools.map((tool) => ({ ...tool }));
        yield { event: { $case: "tools", value: { tools: sent, hash, tokens, reused, toolset } } };
        break;
      }
      case "system": {
        const { text, hash, tokens, sections } = event.system;
        const reused = have?.systemHash.equals(hash) ?? false;
        const value = { text: reused ? "" : text, sections: [...sections], hash, tokens, reused };
        yield { event: { $case: "system", value } };
        break;
      }
      case "compaction":
        yield {
          event: { $case: "compaction", value: { event: compactionEvent(assembly, tenantId, event.notice) } },
        };
        break;
      case "history":
        yield* historyBatches(event.history);
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
    const value = { data: body.subarray(at, at + chunkBytes), rendered: about };
    yield { event: { $case: "rendered", value } };
  }
}

function compactionEvent(
  { planSeal }: AssemblyDeps,
  tenantId: string,
  notice: CompactionNotice,
): CompactionEvent["event"] {
  switch (notice.kind) {
    case "started": {
      const { kind, strategy: compressionStrategy, ...value } = notice;
      return { $case: kind, value: { ...value, compressionStrategy } };
    }
    case "finished":
      return { $case: "finished", value: viewCompaction(notice.row) };
    case "failed":
      return { $case: "failed", value: { reason: notice.reason, failures: [...notice.failures] } };
    case "needed": {
      const { prompt, previousId, trigger, sessionId } = notice;
      const plan = { ...notice.plan, previousCompactionId: previousId, trigger };
      const value = {
        planToken: planSeal.seal(tenantId, sessionId, plan),
        plan,
        systemPrompt: prompt.system,
        prompt: prompt.user,
      };
      return { $case: "needed", value };
    }
  }
}

/** The history in batches: the stored bytes, with the layer's description before them. */
function* historyBatches(history: HistoryStage): Generator<EncodedResponse> {
  const layer = wire.HistoryBatch.encode({ messages: [], layer: history.layer }).finish();
  const batcher = new HistoryBatcher(Buffer.from(layer));
  for (const piece of history.pieces())
    for (const batch of batcher.add(piece)) yield nested(historyField, batch);
  for (const batch of batcher.rest()) yield nested(historyField, batch);
}

const definitions = wire.AssemblyServiceService;

/** The methods of the service, with strict decoding and answers that may be bytes. */
export const assemblyService = {
  assemble: method(definitions.assemble, wire.AssembleRequest, wire.AssembleResponse),
  buildContext: method(definitions.buildContext, wire.BuildContextRequest, wire.BuildContextResponse),
  reportOverflow: method(definitions.reportOverflow, wire.ReportOverflowRequest, wire.ReportOverflowResponse),
  getReceipt: method(definitions.getReceipt, wire.GetReceiptRequest, wire.GetReceiptResponse),
  compareReceipts: method(
    definitions.compareReceipts,
    wire.CompareReceiptsRequest,
    wire.CompareReceiptsResponse,
  ),
  replayContext: method(definitions.replayContext, wire.ReplayContextRequest, wire.ReplayContextResponse),
  validateBody: method(definitions.validateBody, wire.ValidateBodyRequest, wire.ValidateBodyResponse),
  listModels: method(definitions.listModels, wire.ListModelsRequest, wire.ListModelsResponse),
  getCacheReport: method(definitions.getCacheReport, wire.GetCacheReportRequest, wire.GetCacheReportResponse),
  countTokens: method(definitions.countTokens, wire.CountTokensRequest, wire.CountTokensResponse),
};
