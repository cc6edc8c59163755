import type * as wire from "../../contract/gen/quire/v1/capsule_service.js";
import { checked } from "./engine/message-check.js";

export const validatePutCapsule = checked<wire.PutCapsuleRequest>("PutCapsuleRequest");
export const validateGetCapsule = checked<wire.GetCapsuleRequest>("GetCapsuleRequest");
export const validateListCapsules = checked<wire.ListCapsulesRequest>("ListCapsulesRequest");
export const validateDeleteCapsule = checked<wire.DeleteCapsuleRequest>("DeleteCapsuleRequest");
export const validateListCapsuleVersions = checked<wire.ListCapsuleVersionsRequest>(
  "ListCapsuleVersionsRequest",
);
export const validateRecordOutcome = checked<wire.RecordOutcomeRequest>("RecordOutcomeRequest");
