import { sha256 } from "../../domain/hash.js";
import { encodeBody, renderBody } from "../../rendering/render.js";
import type { BodyFormat, RenderInput } from "../../rendering/render-input.js";
import { type SentParameters, sentParameters } from "../../rendering/sent-parameters.js";
import { decodeMessages } from "../../thread/message-codec.js";

/** A body and its hash from a context whose messages are in wire form, which is how they go to another thread. */
export function renderPieces({
  format,
  context,
  pieces,
}: {
  readonly format: BodyFormat;
  readonly context: Omit<RenderInput, "messages">;
  readonly pieces: readonly Uint8Array[];
}): { readonly body: Uint8Array; readonly hash: Uint8Array; readonly sent: SentParameters } {
  const messages = pieces.flatMap((piece) => decodeMessages(piece));
  const rendered = renderBody(format, { ...context, messages });
  const body = encodeBody(rendered);
  return { body, hash: sha256(body), sent: sentParameters(format, rendered) };
}
