import { messageJson, sessionJson, turnJson } from "../../contract/proto-json.js";
import type { Exporter } from "./exporter.js";

/** Everything that the contract says about a thread: a session line, then each turn with its messages behind it. */
export const exportQuireJsonl: Exporter = async function* (thread) {
  yield `${JSON.stringify({ session: sessionJson.toJson(thread.session) })}\n`;
  let turnId = "";
  for await (const message of thread.messages()) {
    if (message.turnId !== turnId) {
      turnId = message.turnId;
      yield `${JSON.stringify({ turn: turnJson.toJson(await thread.turn(turnId)) })}\n`;
    }
    yield `${JSON.stringify({ message: messageJson.toJson(message) })}\n`;
  }
};
