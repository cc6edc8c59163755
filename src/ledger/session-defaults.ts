import { AgentRole } from "../domain/agent-role.js";
import type { SessionDefaults } from "../domain/session.js";
import type { Tool } from "../domain/workspace.js";
import { QuireError } from "../errors/quire-error.js";
import type { SessionRow } from "../storage/ledger/rows.js";

/** What a session remembers, as its row holds it. Tools have a column of their own: most who read the rest do not need them. */
export type DefaultsColumns = Pick<SessionRow, "defaultsJson" | "toolsJson">;

const maxToolsBytes = 1_048_576;

export const noDefaults: SessionDefaults = { scope: undefined, tools: undefined };

export function readDefaults({ defaultsJson, toolsJson }: DefaultsColumns): SessionDefaults | undefined {
  if (defaultsJson === null && toolsJson === null) return undefined;
  const { scope, ...rest } =
    defaultsJson === null ? noDefaults : (JSON.parse(defaultsJson) as SessionDefaults);
  return {
    ...rest,
    scope: scope && { capabilities: scope.capabilities, all: false },
    tools: toolsJson === null ? undefined : { tools: JSON.parse(toolsJson) as Tool[] },
  };
}

/** The columns after a change: what is absent stays as it was, what is empty is forgotten. */
export function changeDefaults(
  before: DefaultsColumns,
  changes: SessionDefaults | undefined,
): DefaultsColumns {
  if (!changes) return before;
  const { tools: changedTools, ...changed } = changes;
  const merged = { ...(before.defaultsJson === null ? {} : JSON.parse(before.defaultsJson)) };
  for (const [name, value] of Object.entries(changed)) {
    if (value === undefined) continue;
    if (isEmpty(value)) delete merged[name];
    else merged[name] = value;
  }
  return {
    defaultsJson: Object.keys(merged).length === 0 ? null : JSON.stringify(merged),
    toolsJson: changedTools ? writeTools(changedTools.tools) : before.toolsJson,
  };
}

function isEmpty(value: NonNullable<SessionDefaults[keyof Omit<SessionDefaults, "tools">]>): boolean {
  if (typeof value === "object") return value.all;
  return value === "" || value === 0 || value === AgentRole.UNSPECIFIED;
}

function writeTools(tools: NonNullable<SessionDefaults["tools"]>["tools"]): string | null {
  if (tools.length === 0) return null;
  const json = JSON.stringify(tools);
  if (Buffer.byteLength(json) > maxToolsBytes)
    throw QuireError.field("INVALID_FIELD", "defaults.tools", "have together more than 1,048,576 bytes");
  return json;
}

/** A worker is an agent with a task: without one there is nothing that it could be told. */
export function requireTask(
  { task }: Pick<SessionRow, "task">,
  columns: DefaultsColumns,
  field: string,
): void {
  if (task || readDefaults({ ...columns, toolsJson: null })?.role !== AgentRole.WORKER) return;
  throw QuireError.field("INVALID_FIELD", field, "is required: a worker needs a task");
}
