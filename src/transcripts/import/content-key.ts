import { Message } from "../../contract/gen/quire/v1/message.js";
import { sha256 } from "../../domain/hash.js";

/** What the caller gave of some messages, as one string to compare: without the fields that the server sets. */
export function contentKey(messages: readonly Message[]): string {
  const chunks = messages.map(({ role, parts, contextParts, contextJson, injected }) =>
    Message.encode(Message.fromPartial({ role, parts, contextParts, contextJson, injected })).finish(),
  );
  return sha256(...chunks.map((chunk) => sha256(chunk))).toString("hex");
}
