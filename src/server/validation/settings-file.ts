import { fromJson, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { messageDescriptor } from "../../contract/descriptors.js";
import { ContextSettings } from "../../contract/gen/quire/v1/context_settings.js";
import { QuireError } from "../../errors/quire-error.js";
import { checked } from "./engine/message-check.js";

const schema = messageDescriptor("ContextSettings");
const check = checked(schema);

/** The server's own settings, from a file in the contract's JSON form, within the bounds that requests have. Throws with every problem and its path. */
export function parseContextSettings(json: string): ContextSettings {
  const value = JSON.parse(json) as JsonValue;
  try {
    const settings = ContextSettings.decode(toBinary(schema, fromJson(schema, value)));
    check(settings);
    return settings;
  } catch (error) {
    throw new Error(problemsOf(error));
  }
}

function problemsOf(error: unknown): string {
  if (!(error instanceof QuireError)) return (error as Error).message;
  return error.violations.map(({ field, description }) => `${field} ${description}`).join("; ");
}
