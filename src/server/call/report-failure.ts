import type { ServiceError } from "@grpc/grpc-js";
import { QuireError } from "../../errors/quire-error.js";
import { toServiceError } from "../status.js";
import type { CallDeps } from "./call-deps.js";

/** Logs why a call failed, and gives what its caller is told: of a fault of ours only where to look for it. */
export function reportFailure(
  { logger, ids }: CallDeps,
  error: QuireError,
  { method, ms, cancelled }: { readonly method: string; readonly ms: number; readonly cancelled: boolean },
): ServiceError {
  const fields = { method, reason: error.reason, ms };
  if (error.reason === "INTERNAL") {
    const incident = ids.next();
    logger.error({ ...fields, incident, cause: describe(error.cause) }, "call failed");
    return toServiceError(
      new QuireError("INTERNAL", `internal error; incident ${incident}`, { metadata: { incident } }),
    );
  }
  if (error.reason === "STORAGE_UNAVAILABLE" || error.reason === "COMMIT_OUTCOME_UNKNOWN")
    logger.warn({ ...fields, cause: describe(error.cause) }, "call failed");
  else logger.debug({ ...fields, cancelled }, "call refused");
  return toServiceError(error);
}

/** An error for the log. What an error quotes may be content, and Prisma's show whole queries. */
function describe(cause: unknown): object {
  if (!(cause instanceof Error)) return { name: typeof cause };
  const { code } = cause as { readonly code?: unknown };
  const message = cause.name.startsWith("PrismaClient")
    ? undefined
    : cause.message.replace(/(["'`]).*\1/gs, "$1…$1");
  const frames = cause.stack?.split("\n").filter((line) => /^\s+at /.test(line));
  return { name: cause.name, code, message, stack: frames?.join("\n") };
}
