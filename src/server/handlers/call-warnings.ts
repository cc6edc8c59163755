import type { AssemblyDeps } from "../../assembly/deps.js";
import type { AgentResult } from "../../contract/gen/quire/v1/turn.js";
import type { Warning } from "../../domain/warning.js";
import { checkCalls } from "../../receipts/check-calls.js";
import type { AnswerKey } from "./answer-key.js";

/** What there is to say of the assemblies that model calls name. A turn or session that is not there is the command's to refuse. */
export async function callWarnings(
  assembly: AssemblyDeps,
  key: AnswerKey,
  result: AgentResult | undefined,
  findSessionId: () => Promise<string | undefined>,
): Promise<readonly Warning[]> {
  const calls = result?.modelCalls ?? [];
  const isNamed = calls.some(({ assemblyId }) => assemblyId);
  if (!isNamed || (await assembly.ledger.sessions.isAnswered(key))) return [];
  const sessionId = await findSessionId();
  return sessionId ? checkCalls(assembly, key.tenantId, sessionId, calls) : [];
}
