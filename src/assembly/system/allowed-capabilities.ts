import type { ResolvedContext } from "../resolve/resolve.js";

/** Whether the capsule lets the agent use a capability: enabled, where it says which are, and not denied by its governance. */
export function allowedBy({ capsule }: Pick<ResolvedContext, "capsule">): (name: string) => boolean {
  const enabled = capsule.body?.persona?.enabledCapabilities?.names;
  const denied = capsule.body?.governance?.deniedCapabilities ?? [];
  return (name) => (enabled === undefined || enabled.includes(name)) && !denied.includes(name);
}
