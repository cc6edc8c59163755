import { HistoryReplay } from "../../contract/gen/quire/v1/assembly.js";
import { ContextRequest } from "../../contract/gen/quire/v1/assembly_service.js";
import { BudgetPolicy, ContextSettings } from "../../contract/gen/quire/v1/context_settings.js";
import { AgentRole, EventSource } from "../../contract/gen/quire/v1/origin.js";
import { BodyFormat } from "../../contract/gen/quire/v1/rendering.js";
import { type BodyFormatName, bodyFormats } from "./body-formats.js";

export const roles = { manager: AgentRole.MANAGER, worker: AgentRole.WORKER, unified: AgentRole.UNIFIED };

export const policies = {
  elastic: BudgetPolicy.ELASTIC,
  truncate: BudgetPolicy.STRICT_TRUNCATE,
  fail: BudgetPolicy.STRICT_FAIL,
};

/** What the flags of `quire assemble` say about a context. */
export interface ContextFlags {
  readonly capsule?: string;
  readonly role?: keyof typeof roles;
  readonly task?: string;
  readonly workspace?: string;
  readonly toolset?: string;
  readonly block?: readonly string[];
  readonly model?: string;
  readonly maxTokens?: number;
  readonly policy?: keyof typeof policies;
  readonly clean?: boolean;
  readonly dryRun?: boolean;
  readonly render?: BodyFormatName;
}

export function contextRequest(session: string, message: string, flags: ContextFlags): ContextRequest {
  return ContextRequest.fromPartial({
    session,
    capsule: flags.capsule,
    role: flags.role && roles[flags.role],
    event: {
      source: EventSource.HUMAN,
      content: [{ content: { $case: "text", value: { text: message } } }],
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    },
    task: flags.task ?? "",
    workspace: flags.workspace,
    toolset: flags.toolset,
    blocks: flags.block ?? [],
    model: flags.model,
    ...(flags.maxTokens === undefined ? {} : { maxContextTokens: flags.maxTokens }),
    ...(flags.policy ? { settings: ContextSettings.fromPartial({ policy: policies[flags.policy] }) } : {}),
    replay: flags.clean ? HistoryReplay.CLEAN : HistoryReplay.AS_SENT,
    dryRun: flags.dryRun ?? false,
    render: flags.render ? bodyFormats[flags.render] : BodyFormat.UNSPECIFIED,
  });
}
