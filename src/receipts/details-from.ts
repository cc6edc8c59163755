import type { AssembledContext } from "../contract/gen/quire/v1/assembly.js";
import { AgentRole } from "../domain/agent-role.js";
import { emptyTurnDetails, type TurnDetails } from "../domain/turn.js";

/** What a turn is, by its caller's word; where that says nothing, by the context that the turn answers to. */
export function detailsFrom(
  sent: AssembledContext | undefined,
  given: TurnDetails | undefined,
): TurnDetails | undefined {
  if (!sent) return given;
  const details = given ?? emptyTurnDetails;
  return {
    agentRole: details.agentRole === AgentRole.UNSPECIFIED ? sent.role : details.agentRole,
    model: details.model || sent.model,
    provider: details.provider || sent.provider,
    toolset: details.toolset || sent.toolset,
    permissionsGranted:
      details.permissionsGranted.length > 0 ? details.permissionsGranted : sent.permissionsGranted,
    sourceEvent: details.sourceEvent ?? sent.sourceEvent,
    workspacePath: details.workspacePath || sent.workspacePath,
    metadata: details.metadata,
  };
}
