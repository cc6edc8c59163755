import { ActorKind, type BlockActor, type BlockOwner, BlockPermission, OwnerKind } from "../domain/memory.js";
import { QuireError } from "../errors/quire-error.js";
import { permissionName } from "./rendering/frame-block.js";

/** What an actor may do to a block, the least first. */
export const rights = ["none", "append", "write", "admin"] as const;
export type Right = (typeof rights)[number];

/** Who acts, with nothing left open. */
export type Actor = BlockActor & {
  readonly kind: Exclude<ActorKind, "ACTOR_KIND_UNSPECIFIED" | "UNRECOGNIZED">;
};

/** The weakest first: of two, the earlier one holds. */
const weakestFirst = [
  BlockPermission.READ_ONLY,
  BlockPermission.PARTNER,
  BlockPermission.HUMAN,
  BlockPermission.APPEND,
  BlockPermission.READ_WRITE,
  BlockPermission.ADMIN,
] as const;

type Table = Readonly<
  Record<(typeof weakestFirst)[number], Readonly<Record<"agent" | "human" | "partner", Right>>>
>;

/** What each permission lets whom do. The system is not in it: it may do everything. */
const allowed: Table = {
  [BlockPermission.READ_ONLY]: { agent: "none", human: "none", partner: "none" },
  [BlockPermission.PARTNER]: { agent: "none", human: "none", partner: "admin" },
  [BlockPermission.HUMAN]: { agent: "none", human: "write", partner: "admin" },
  [BlockPermission.APPEND]: { agent: "append", human: "append", partner: "append" },
  [BlockPermission.READ_WRITE]: { agent: "write", human: "write", partner: "admin" },
  [BlockPermission.ADMIN]: { agent: "admin", human: "admin", partner: "admin" },
};

const actorNames = {
  [ActorKind.AGENT]: "agent",
  [ActorKind.PARTNER]: "partner",
  [ActorKind.HUMAN]: "human",
  [ActorKind.SYSTEM]: "system",
} as const;

/** An actor as errors and people name its kind. */
export function actorName({ kind }: Actor): "agent" | "partner" | "human" | "system" {
  return actorNames[kind];
}

/** The caller; the system where none is named. */
export function actorOf(given: BlockActor | undefined): Actor {
  if (!given) return { kind: ActorKind.SYSTEM, name: "" };
  const kind = given.kind === ActorKind.UNSPECIFIED ? ActorKind.AGENT : given.kind;
  if (kind === ActorKind.AGENT && given.name === "")
    throw QuireError.field(
      "INVALID_FIELD",
      "actor.name",
      "is required: an agent has the name of its capsule",
    );
  return { kind: kind as Actor["kind"], name: given.name };
}

export function isSystem({ kind }: Actor): boolean {
  return kind === ActorKind.SYSTEM;
}

/** Whether a block is the actor's own. Only agents have blocks that others need a share for. */
export function isOwn(actor: Actor, owner: BlockOwner): boolean {
  return actor.kind !== ActorKind.AGENT || (owner.kind === OwnerKind.AGENT && owner.name === actor.name);
}

export function weaker(a: BlockPermission, b: BlockPermission): BlockPermission {
  const order = weakestFirst as readonly BlockPermission[];
  return order.indexOf(a) <= order.indexOf(b) ? a : b;
}

/** What an actor may do to a block that has this permission for it. */
export function rightOf(actor: Actor, permission: BlockPermission): Right {
  const name = actorName(actor);
  if (name === "system") return "admin";
  return allowed[permission as keyof Table]?.[name] ?? "none";
}

/** Throws where the actor may not do what it needs the right for. */
export function requireRight(actor: Actor, permission: BlockPermission, needs: Right, label: string): void {
  if (rights.indexOf(rightOf(actor, permission)) >= rights.indexOf(needs)) return;
  throw notAllowed(actor, permission, needs, label);
}

const acts: Readonly<Record<Right, string>> = {
  none: "see it",
  append: "append",
  write: "write",
  admin: "administer it",
};

export function notAllowed(
  actor: Actor,
  permission: BlockPermission,
  needs: Right,
  label: string,
  place: { readonly field?: string; readonly section?: string } = {},
): QuireError {
  const who = actorName(actor);
  const where = place.field ?? place.section;
  const what =
    where === undefined
      ? `the block ${JSON.stringify(label)} is ${permissionName(permission)} for ${who} actors: this needs the right to ${acts[needs]}`
      : `${JSON.stringify(where)} of the block ${JSON.stringify(label)} is read-only: only the system writes it`;
  return new QuireError("BLOCK_NOT_ALLOWED", what, {
    metadata: { label, actor: who, permission: permissionName(permission), needs, ...place },
  });
}
