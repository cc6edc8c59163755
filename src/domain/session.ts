import type { AgentRole } from "./agent-role.js";
import type { Lease } from "./lease.js";
import type { Tool } from "./workspace.js";

export const TaskStatus = {
  UNSPECIFIED: "TASK_STATUS_UNSPECIFIED",
  PENDING: "TASK_STATUS_PENDING",
  RUNNING: "TASK_STATUS_RUNNING",
  COMPLETED: "TASK_STATUS_COMPLETED",
  FAILED: "TASK_STATUS_FAILED",
  CANCELLED: "TASK_STATUS_CANCELLED",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type TaskStatus = (typeof TaskStatus)[keyof typeof TaskStatus];

export const HeadMoveCause = {
  UNSPECIFIED: "HEAD_MOVE_CAUSE_UNSPECIFIED",
  RECORDED: "HEAD_MOVE_CAUSE_RECORDED",
  COMPLETED: "HEAD_MOVE_CAUSE_COMPLETED",
  FORKED: "HEAD_MOVE_CAUSE_FORKED",
  MOVED: "HEAD_MOVE_CAUSE_MOVED",
  INTERRUPTED: "HEAD_MOVE_CAUSE_INTERRUPTED",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type HeadMoveCause = (typeof HeadMoveCause)[keyof typeof HeadMoveCause];

export const OnHeadMoved = {
  UNSPECIFIED: "ON_HEAD_MOVED_UNSPECIFIED",
  FAIL: "ON_HEAD_MOVED_FAIL",
  BRANCH: "ON_HEAD_MOVED_BRANCH",
  APPEND: "ON_HEAD_MOVED_APPEND",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type OnHeadMoved = (typeof OnHeadMoved)[keyof typeof OnHeadMoved];

export interface SubAgentLink {
  readonly parentSessionId: string;
  readonly parentTurnId: string;
  readonly spawningCallId: string;
  readonly task: string;
  readonly taskStatus: TaskStatus;
}

/** Some capabilities, or all of them. */
export interface CapabilityScope {
  readonly capabilities: readonly string[];
  readonly all: boolean;
}

/** What a session remembers for its assemblies. */
export interface SessionDefaults {
  readonly capsule?: string | undefined;
  readonly role?: AgentRole | undefined;
  readonly workspace?: string | undefined;
  readonly toolset?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  /** The capabilities that a worker sees; where it has no names, none. */
  readonly scope: CapabilityScope | undefined;
  readonly tools: { readonly tools: readonly Tool[] } | undefined;
  readonly maxContextTokens?: number | undefined;
}

/** A label that points at the head of a thread. */
export interface Session {
  readonly id: string;
  readonly label: string;
  readonly headTurnId: string;
  readonly depth: number;
  readonly aliases: readonly string[];
  readonly workspacePath: string;
  readonly metadata: { [key: string]: string };
  readonly forkedFromTurnId: string;
  readonly subAgent: SubAgentLink | undefined;
  readonly headSequence: number;
  readonly createTime: Date | undefined;
  readonly updateTime: Date | undefined;
  readonly defaults: SessionDefaults | undefined;
  readonly reportedLimits: readonly ReportedLimit[];
  readonly lease: Lease | undefined;
}

/** How much a model takes, as its provider said. */
export interface ReportedLimit {
  readonly model: string;
  readonly tokens: number;
}

/** One entry of a session's head log. */
export interface HeadMove {
  readonly sequence: number;
  readonly fromTurnId: string;
  readonly toTurnId: string;
  readonly cause: HeadMoveCause;
  readonly createTime: Date | undefined;
}
