export const AgentRole = {
  UNSPECIFIED: "AGENT_ROLE_UNSPECIFIED",
  MANAGER: "AGENT_ROLE_MANAGER",
  WORKER: "AGENT_ROLE_WORKER",
  UNIFIED: "AGENT_ROLE_UNIFIED",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type AgentRole = (typeof AgentRole)[keyof typeof AgentRole];
