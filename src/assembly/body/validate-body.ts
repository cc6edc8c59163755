import { QuireError } from "../../errors/quire-error.js";
import { type Offload, task } from "../../offload/offload.js";
import { bodyTooDeep, validateBodyBytes } from "../../rendering/render.js";
import type { BodyFormat, BodyProblem } from "../../rendering/render-input.js";

/** JSON that is wide takes long to read: what is larger is read in a worker thread. */
export const mostJsonBytes = 256 * 1024;

const validating = task<typeof validateBodyBytes>("src/rendering/render.ts", "validateBodyBytes");

/** The provider's rules that a body breaks. */
export async function validateBody(
  offload: Offload,
  format: BodyFormat,
  bytes: Buffer,
  signal?: AbortSignal,
): Promise<BodyProblem[]> {
  const input = { format, bytes };
  const problems =
    bytes.length > mostJsonBytes ? await offload.run(validating, input, signal) : validateBodyBytes(input);
  if (problems[0]?.rule === bodyTooDeep.rule)
    throw QuireError.field("INVALID_FIELD", "body", bodyTooDeep.message);
  return problems;
}
