import type { CapsuleDeps } from "../../capsule/capsules.js";
import { deleteCapsule } from "../../capsule/delete-capsule.js";
import { putCapsule } from "../../capsule/put-capsule.js";
import { listCapsules, listCapsuleVersions } from "../../capsule/read-capsules.js";
import { recordOutcome } from "../../capsule/record-outcome.js";
import { CapsuleServiceDefinition } from "../../contract/gen/quire/v1/capsule_service.js";
import { paged } from "../paged.js";
import { type Service, service } from "../service.js";

/** CapsuleService: each RPC is one command on capsules. */
export function capsuleService(capsules: CapsuleDeps): Service<CapsuleServiceDefinition> {
  return service(CapsuleServiceDefinition, {
    putCapsule: (request, { key }) => putCapsule(capsules, key, { ...request, body: request.body! }),
    getCapsule: async ({ name, version }, { tenantId }) => capsules.reader.resolve(tenantId, name, version),
    listCapsules: (request, { tenantId }) => listCapsules(capsules, tenantId, paged(request)),
    deleteCapsule: ({ name }, { key }) => deleteCapsule(capsules, key, name),
    listCapsuleVersions: (request, { tenantId }) => listCapsuleVersions(capsules, tenantId, paged(request)),
    recordOutcome: (request, { key }) =>
      recordOutcome(capsules, key, { ...request, needed: request.needed! }),
  });
}
