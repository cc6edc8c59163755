import type * as models from "../gen/sqlite/models.js";
import { TableShape } from "../ledger/rows.js";

export type CapsuleVersionRow = models.CapsuleVersionModel;

/** A version without its body, with the name of its capsule. */
export interface CapsuleSummary {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly hash: Buffer;
  readonly cause: string;
  readonly createdUs: bigint;
  readonly bodyBytes: number;
}

/** A version as it is stored. */
export interface StoredCapsule extends CapsuleSummary {
  readonly body: Buffer;
}

/** Of `capsules c` joined with `capsule_versions v`. */
export const summaryShape = new TableShape<CapsuleSummary>("capsules", [
  ["id", "c.id", "text"],
  ["name", "c.name", "text"],
  ["version", "v.version", "int"],
  ["hash", "v.hash", "bytes"],
  ["cause", "v.cause", "text"],
  ["createdUs", "v.created_us", "bigint"],
  ["bodyBytes", "v.body_bytes", "int"],
]);
