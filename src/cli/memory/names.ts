import { InvalidArgumentError } from "commander";
import { ActorKind, BlockPermission, BlockType, OwnerKind } from "../../contract/gen/quire/v1/memory.js";

const owners = {
  agent: OwnerKind.AGENT,
  person: OwnerKind.PERSON,
  team: OwnerKind.TEAM,
  project: OwnerKind.PROJECT,
};
const actors = {
  agent: ActorKind.AGENT,
  partner: ActorKind.PARTNER,
  human: ActorKind.HUMAN,
  system: ActorKind.SYSTEM,
};

export const blockTypes = {
  core: BlockType.CORE,
  working: BlockType.WORKING,
  archival: BlockType.ARCHIVAL,
  log: BlockType.LOG,
};

export const blockPermissions = {
  "read-only": BlockPermission.READ_ONLY,
  partner: BlockPermission.PARTNER,
  human: BlockPermission.HUMAN,
  append: BlockPermission.APPEND,
  "read-write": BlockPermission.READ_WRITE,
  admin: BlockPermission.ADMIN,
};

/** `entropy` is an agent; `team:ops`, `person:ada` and `project:atlas` are others. */
export function readOwner(text: string) {
  const [, kind, name] = /^(agent|person|team|project):(.+)$/s.exec(text) ?? [undefined, "agent", text];
  return { kind: owners[kind as keyof typeof owners], name: name! };
}

/** `agent:entropy`, `human:ada`, `partner` or `system`. */
export function readActor(text: string) {
  const [, kind, , name = ""] = /^(agent|partner|human|system)(:(.+))?$/s.exec(text) ?? [];
  if (!kind || (kind === "agent" && name === ""))
    throw new InvalidArgumentError(
      "It must be agent:<name>, partner, human or system, the last three with or without :<name>.",
    );
  return { kind: actors[kind as keyof typeof actors], name };
}

/** An enum's value as people write it: BLOCK_TYPE_CORE is `core`. */
export function shortName(value: string, prefix: string): string {
  return value.replace(prefix, "").toLowerCase().replaceAll("_", "-");
}
