import { InjectedContext } from "../../../contract/gen/quire/v1/injected_context.js";
import type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ToolCallPart,
} from "../../../contract/gen/quire/v1/message.js";
import type { Checker } from "../checker.js";
import { checkJson } from "./json-check.js";

const maxInjectedBytes = 1_048_576;

export const messageChecks = {
  // Rules do not look into JSON, and do not know how large a message is.
  Message: (checker: Checker, message: Message) => {
    checkJson(checker, "context_json", message.contextJson, { isObject: true });
    if (message.injected && InjectedContext.encode(message.injected).finish().length > maxInjectedBytes)
      checker.wrong("injected", `has more than ${maxInjectedBytes.toLocaleString("en")} bytes as encoded`);
  },
  // The same.
  Part: (checker: Checker, { providerJson = "" }: Part) =>
    checkJson(checker, "provider_json", providerJson, { isObject: true }),
  // The same; it need not be valid, but it may not be deep.
  ToolCallPart: (checker: Checker, call: ToolCallPart) =>
    checkJson(checker, "arguments_json", call.argumentsJson, { isObject: false }),
  ImagePart: checkMediaType,
  FilePart: checkMediaType,
};

/** Whether it is needed depends on another field. */
function checkMediaType(checker: Checker, part: ImagePart | FilePart): void {
  if (part.source?.$case === "data" && part.mediaType === "")
    checker.wrong("media_type", "is required with data");
}
