import type { Message } from "../../contract/gen/quire/v1/message.js";
import type { Session } from "../../contract/gen/quire/v1/session.js";
import type { Turn } from "../../contract/gen/quire/v1/turn.js";
import type { Findings } from "../findings.js";

/** A thread as it is read: a session, and its messages with the turns they belong to, the oldest first. */
export interface Thread {
  readonly session: Session;
  messages(): AsyncIterable<Message>;
  turn(id: string): Promise<Turn>;
}

/** Gives the text of an export, piece by piece. What the format cannot hold is reported. */
export type Exporter = (thread: Thread, findings: Findings) => AsyncIterable<string>;
