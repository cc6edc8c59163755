import type { AssemblyDeps } from "../../assembly/deps.js";
import { capsuleOfParent } from "../../assembly/resolve/parent-capsule.js";
import type { CreateSessionRequest } from "../../contract/gen/quire/v1/ledger_service.js";
import { noDefaults } from "../../ledger/session-defaults.js";
import type { AnswerKey } from "./answer-key.js";

/** A sub-agent with the capsule that it inherits, if none is named. */
export async function withParentCapsule(
  assembly: AssemblyDeps,
  key: AnswerKey,
  request: CreateSessionRequest,
): Promise<CreateSessionRequest> {
  const { sessions } = assembly.ledger;
  const { subAgent, defaults } = request;
  if (!subAgent || defaults?.capsule || (await sessions.isAnswered(key))) return request;
  const parent = await sessions.find(key.tenantId, subAgent.parentSessionId);
  if (!parent) return request;
  const { parentTurnId } = subAgent;
  const from = { parentSessionId: parent.row.id, parentTurnId };
  const capsule = await capsuleOfParent(assembly, key.tenantId, from);
  return capsule ? { ...request, defaults: { ...noDefaults, ...defaults, capsule } } : request;
}
