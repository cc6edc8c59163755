import type { ContextRequest } from "../../contract/gen/quire/v1/assembly_service.js";
import { AgentRole } from "../../domain/agent-role.js";
import type { SessionDefaults } from "../../domain/session.js";
import type { Soon } from "../../domain/soon.js";
import { QuireError } from "../../errors/quire-error.js";
import { noDefaults, readDefaults } from "../../ledger/session-defaults.js";
import type { SessionMemory } from "../../storage/ledger/rows.js";
import { capsuleOfParent, type ParentDeps } from "./parent-capsule.js";

/** What a request may leave to its session. */
type Remembered = "capsule" | "role" | "workspace" | "toolset" | "model";

/** A request in which nothing is left to the session any more. */
export type SettledRequest = Omit<ContextRequest, Remembered | "scope"> & {
  readonly [Name in Remembered]: NonNullable<ContextRequest[Name]>;
} & {
  /** The capabilities that a worker sees; undefined for all of them. */
  readonly scopedCapabilities: readonly string[] | undefined;
  /** The session's own limit. */
  readonly sessionMaxTokens: number | undefined;
};

/** Fills in what the session remembers. What the request names is stronger. */
export function settleRequest(
  deps: ParentDeps,
  tenantId: string,
  request: ContextRequest,
  memory: SessionMemory,
): Soon<SettledRequest> {
  const defaults = readDefaults(memory) ?? noDefaults;
  const capsule = request.capsule || defaults.capsule;
  if (capsule) return settled(request, memory, defaults, capsule);
  return capsuleOfParent(deps, tenantId, memory).then((found) => settled(request, memory, defaults, found));
}

function settled(
  request: ContextRequest,
  memory: SessionMemory,
  defaults: SessionDefaults,
  capsule: string | undefined,
): SettledRequest {
  const role = given(request.role) ?? defaults.role ?? AgentRole.UNIFIED;
  const task = request.task || (role === AgentRole.WORKER ? (memory.task ?? "") : "");
  if (role === AgentRole.WORKER && task === "")
    throw QuireError.field(
      "INVALID_FIELD",
      "context.task",
      "is required: a worker needs a task, and the session has none",
    );
  if (!capsule)
    throw QuireError.field(
      "INVALID_FIELD",
      "context.capsule",
      "is required: neither the session nor its parent knows a capsule",
    );
  const scope = request.scope ?? defaults.scope;
  return {
    ...request,
    ...place(request, defaults),
    ...model(request, defaults),
    sessionMaxTokens: defaults.maxContextTokens,
    role,
    task,
    capsule,
    tools: request.tools.length > 0 ? request.tools : (defaults.tools?.tools ?? []),
    scopedCapabilities: scope && !scope.all ? scope.capabilities : undefined,
  };
}

function given(role: AgentRole | undefined): AgentRole | undefined {
  return role === AgentRole.UNSPECIFIED ? undefined : role;
}

/** A toolset belongs to its workspace: in another one its name means another, or none. */
function place(request: ContextRequest, defaults: SessionDefaults) {
  const workspace = request.workspace ?? defaults.workspace ?? "";
  const own = workspace === defaults.workspace ? defaults.toolset : undefined;
  return { workspace, toolset: request.toolset ?? own ?? "" };
}

/** A provider belongs to its model. */
function model(request: ContextRequest, defaults: SessionDefaults) {
  const name = request.model ?? defaults.model ?? "";
  const own = name === (defaults.model ?? "") ? defaults.provider : undefined;
  return { model: name, provider: request.provider || own || "" };
}
