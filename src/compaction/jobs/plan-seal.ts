import { createHmac, timingSafeEqual } from "node:crypto";
import { CompactionPlan } from "../../contract/gen/quire/v1/compaction.js";
import { QuireError } from "../../errors/quire-error.js";

const sealBytes = 32;

export type SealedPlan = CompactionPlan;

/**
 * Lets a plan go to the engine and come back with its summary, so that nothing of it can be changed on the way: not what must be kept, not how long the
 * summary may be, not whose thread it is for. All servers of a database have the same key.
 */
export class PlanSeal {
  private readonly key: Buffer;

  constructor(key: Buffer) {
    this.key = key;
  }

  seal(tenantId: string, sessionId: string, plan: CompactionPlan): string {
    const bytes = Buffer.from(CompactionPlan.encode(plan).finish());
    return Buffer.concat([this.sealOf(tenantId, sessionId, bytes), bytes]).toString("base64url");
  }

  /** The plan of a token that a server gave out for this session; an error for any other. */
  open(tenantId: string, sessionId: string, token: string): CompactionPlan {
    const sealed = Buffer.from(token, "base64url");
    const bytes = sealed.subarray(sealBytes);
    const expected = this.sealOf(tenantId, sessionId, bytes);
    if (sealed.length < sealBytes || !timingSafeEqual(sealed.subarray(0, sealBytes), expected))
      throw QuireError.field(
        "INVALID_FIELD",
        "plan_token",
        "is no token that was given out for this session",
      );
    return CompactionPlan.decode(bytes);
  }

  private sealOf(tenantId: string, sessionId: string, plan: Buffer): Buffer {
    return createHmac("sha256", this.key)
      .update(JSON.stringify([tenantId, sessionId]))
      .update(plan)
      .digest();
  }
}
