import type * as wire from "../../contract/gen/quire/v1/assembly_service.js";
import { checked } from "./engine/message-check.js";

export const validateAssemble = checked<wire.AssembleRequest>("AssembleRequest");
export const validateBuildContext = checked<wire.BuildContextRequest>("BuildContextRequest");
export const validateReportOverflow = checked<wire.ReportOverflowRequest>("ReportOverflowRequest");
export const validateGetReceipt = checked<wire.GetReceiptRequest>("GetReceiptRequest");
export const validateCompareReceipts = checked<wire.CompareReceiptsRequest>("CompareReceiptsRequest");
export const validateReplayContext = checked<wire.ReplayContextRequest>("ReplayContextRequest");
export const validateCountTokens = checked<wire.CountTokensRequest>("CountTokensRequest");
export const validateValidateBody = checked<wire.ValidateBodyRequest>("ValidateBodyRequest");
export const validateListModels = checked<wire.ListModelsRequest>("ListModelsRequest");
export const validateGetCacheReport = checked<wire.GetCacheReportRequest>("GetCacheReportRequest");
