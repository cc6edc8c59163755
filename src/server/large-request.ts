import { type Offload, task } from "../offload/offload.js";
import { keepEncoded } from "../thread/message-codec.js";
import type { decodeRequest } from "./decode-request.js";
import { heldMessages } from "./held-messages.js";
import { asBuffer, reviveBuffers } from "./revive-buffers.js";
import { invalid } from "./validation/checker.js";
import { malformed, type WireRequest } from "./wire-request.js";
import { keepHash } from "./write-key.js";

const decoding = task<typeof decodeRequest>("src/server/decode-request.ts", "decodeRequest");

/**
 * Decodes a large request in a worker thread, where it is checked, and its hash and the stored form of its messages are made as well:
 * what is left here is to take over the strings of one that is valid, a fraction of the work.
 */
export async function openLarge(offload: Offload, wire: WireRequest, signal: AbortSignal): Promise<object> {
  const { method } = wire;
  const bytes = wire.take();
  // A buffer of this size is not one of those that Node shares.
  const answer = await offload.run(decoding, { path: method.path, bytes }, signal, [
    bytes.buffer as ArrayBuffer,
  ]);
  if ("failure" in answer) throw malformed(method, new RangeError(answer.failure));
  if ("refusal" in answer) throw invalid(answer.refusal.message, answer.refusal.violations);
  const request = reviveBuffers(answer.request) as object;
  if (answer.hash) keepHash(request, Buffer.from(answer.hash));
  heldMessages(request).forEach((message, index) => {
    const parts = answer.encodedParts[index];
    if (parts) keepEncoded(message.parts, asBuffer(parts));
  });
  return request;
}
