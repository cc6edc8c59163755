import type { AgentEvent } from "../../../contract/gen/quire/v1/assembly.js";
import type { ContextRequest, CountTokensRequest } from "../../../contract/gen/quire/v1/assembly_service.js";
import { BodyFormat } from "../../../contract/gen/quire/v1/rendering.js";
import type { Checker } from "../checker.js";
import { checkOnce } from "./once.js";

const eventParts: ReadonlySet<string> = new Set(["text", "image", "file", "opaque"]);
const maxTextBytes = 16 * 1024 * 1024;

export const assemblyChecks = {
  // Whether an event is needed depends on another field; names once.
  ContextRequest: (checker: Checker, { event, activeTurnId, tools, render, bodyOnly }: ContextRequest) => {
    if (bodyOnly && render === BodyFormat.UNSPECIFIED) checker.wrong("render", "is required with body_only");
    if (!event && activeTurnId === "") checker.wrong("event", "is required without active_turn_id");
    checkOnce(checker, "tools", tools, "name", ({ name }) => name);
  },
  // The same parts may hold more where they stand in a message.
  AgentEvent: (checker: Checker, { content }: AgentEvent) => {
    for (let index = 0; index < content.length && !checker.isFull; index++) {
      const kind = content[index]!.content?.$case;
      if (kind && !eventParts.has(kind))
        checker.wrong(`content[${index}]`, "must be text, image, file or opaque");
    }
  },
  // A sum over a list.
  CountTokensRequest: (checker: Checker, { texts }: CountTokensRequest) => {
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    if (bytes > maxTextBytes)
      checker.wrong("texts", `have together more than ${maxTextBytes.toLocaleString("en")} bytes`);
  },
};
