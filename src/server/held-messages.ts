import type { Message } from "../domain/message.js";

/** A request with messages for a turn, with a result that has some, or with none. */
export interface MessageHolder {
  readonly messages?: readonly Message[];
  readonly result?: { readonly messages: readonly Message[] } | undefined;
}

export function heldMessages({ messages = [], result }: MessageHolder): readonly Message[] {
  return result ? [...messages, ...result.messages] : messages;
}
