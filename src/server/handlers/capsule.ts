import type { CapsuleDeps } from "../../capsule/capsules.js";
import { deleteCapsule } from "../../capsule/delete-capsule.js";
import { putCapsule } from "../../capsule/put-capsule.js";
import { listCapsules, listCapsuleVersions } from "../../capsule/read-capsules.js";
import { recordOutcome } from "../../capsule/record-outcome.js";
import * as wire from "../../contract/gen/quire/v1/capsule_service.js";
import { method } from "../method.js";
import { type RpcsOf, rpc } from "../rpc.js";
import * as validation from "../validation/capsule.js";
import { writeKey } from "../write-key.js";

const defaultPageSize = 50;

/** CapsuleService: each RPC is its validation and one command on capsules. */
export function capsuleHandlers(capsules: CapsuleDeps): RpcsOf<wire.CapsuleServiceServer> {
  return {
    putCapsule: rpc("PutCapsule", validation.validatePutCapsule, (request, { tenantId }) =>
      putCapsule(
        capsules,
        writeKey(tenantId, "PutCapsule", request, wire.PutCapsuleRequest, wire.PutCapsuleResponse),
        { ...request, body: request.body! },
      ),
    ),
    getCapsule: rpc("GetCapsule", validation.validateGetCapsule, (request, { tenantId }) =>
      capsules.reader.resolve(tenantId, request.name, request.version),
    ),
    listCapsules: rpc("ListCapsules", validation.validateListCapsules, (request, { tenantId }) =>
      listCapsules(capsules, tenantId, { ...request, pageSize: request.pageSize || defaultPageSize }),
    ),
    deleteCapsule: rpc("DeleteCapsule", validation.validateDeleteCapsule, (request, { tenantId }) =>
      deleteCapsule(
        capsules,
        writeKey(tenantId, "DeleteCapsule", request, wire.DeleteCapsuleRequest, wire.DeleteCapsuleResponse),
        request.name,
      ),
    ),
    listCapsuleVersions: rpc(
      "ListCapsuleVersions",
      validation.validateListCapsuleVersions,
      (request, { tenantId }) =>
        listCapsuleVersions(capsules, tenantId, {
          ...request,
          pageSize: request.pageSize || defaultPageSize,
        }),
    ),
    recordOutcome: rpc("RecordOutcome", validation.validateRecordOutcome, (request, { tenantId }) =>
      recordOutcome(
        capsules,
        writeKey(tenantId, "RecordOutcome", request, wire.RecordOutcomeRequest, wire.RecordOutcomeResponse),
        { ...request, needed: request.needed! },
      ),
    ),
  };
}

const definitions = wire.CapsuleServiceService;

/** The methods of the service, with strict decoding. */
export const capsuleService = {
  putCapsule: method(definitions.putCapsule, wire.PutCapsuleRequest, wire.PutCapsuleResponse),
  getCapsule: method(definitions.getCapsule, wire.GetCapsuleRequest, wire.GetCapsuleResponse),
  listCapsules: method(definitions.listCapsules, wire.ListCapsulesRequest, wire.ListCapsulesResponse),
  deleteCapsule: method(definitions.deleteCapsule, wire.DeleteCapsuleRequest, wire.DeleteCapsuleResponse),
  listCapsuleVersions: method(
    definitions.listCapsuleVersions,
    wire.ListCapsuleVersionsRequest,
    wire.ListCapsuleVersionsResponse,
  ),
  recordOutcome: method(definitions.recordOutcome, wire.RecordOutcomeRequest, wire.RecordOutcomeResponse),
};
