import { formatName } from "../../assembly/body/format-name.js";
import { validateBody } from "../../assembly/body/validate-body.js";
import { buildContext } from "../../assembly/build-context.js";
import type { AssemblyDeps } from "../../assembly/deps.js";
import { type Overflow, reportOverflow } from "../../compaction/jobs/report-overflow.js";
import {
  AssemblyServiceDefinition,
  type ReportOverflowRequest,
} from "../../contract/gen/quire/v1/assembly_service.js";
import { countTexts } from "../../models/count-texts.js";
import { listModels } from "../../models/list-models.js";
import { cacheReport } from "../../receipts/cache-report.js";
import { compareReceipts } from "../../receipts/compare.js";
import { readReceipt } from "../../receipts/find-receipt.js";
import { readOverflow } from "../../rendering/read-overflow.js";
import { paged } from "../paged.js";
import { type Service, service } from "../service.js";
import { assembleResponses } from "./assemble-responses.js";
import { replayedContext, withBody } from "./context-with-body.js";

const defaultTurns = 20;

/** What the caller says counts for more than what its provider's words do. */
function overflowOf({ assemblyId, reportedTokens, limitTokens, errorBody }: ReportOverflowRequest): Overflow {
  const read = readOverflow(errorBody);
  return {
    assemblyId: assemblyId!,
    limitTokens: limitTokens ?? read.limitTokens,
    contextTokens: reportedTokens || read.contextTokens,
  };
}

/** AssemblyService: each RPC is one command of the assembly. */
export function assemblyService(assembly: AssemblyDeps): Service<AssemblyServiceDefinition> {
  return service(AssemblyServiceDefinition, {
    assemble: (request, call) => assembleResponses(assembly, request.context!, call),
    buildContext: async ({ context, includeCandidates }, { tenantId, ...limits }) =>
      withBody(await buildContext(assembly, tenantId, context!, limits, includeCandidates)),
    reportOverflow: (request, { key, ...limits }) =>
      reportOverflow(assembly.compaction, key, overflowOf(request), limits),
    getReceipt: async ({ assemblyId }, { tenantId }) => ({
      receipt: await readReceipt(assembly.receipts, tenantId, assemblyId!),
    }),
    compareReceipts: ({ firstAssemblyId, secondAssemblyId }, { tenantId }) =>
      compareReceipts(assembly, tenantId, firstAssemblyId!, secondAssemblyId!),
    replayContext: async (request, { tenantId, signal }) =>
      withBody(await replayedContext(assembly, tenantId, request, signal)),
    validateBody: async ({ format, body }, { signal }) => ({
      problems: await validateBody(assembly.offload, formatName(format)!, body, signal),
    }),
    listModels: (request, { tenantId }) => listModels(assembly, tenantId, paged(request)),
    getCacheReport: ({ session, turns }, { tenantId }) =>
      cacheReport(assembly, tenantId, session, turns || defaultTurns),
    countTokens: ({ texts, model }, { tenantId, signal }) =>
      countTexts(assembly, tenantId, texts, model, signal),
  });
}
