import { fromJson, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { ContextSettings } from "../../contract/gen/quire/v1/context_settings.js";
import { QuireError } from "../../errors/quire-error.js";
import { messageDescriptor } from "./engine/descriptors.js";
import { checked } from "./engine/message-check.js";

const check = checked<ContextSettings>("ContextSettings");

/** The server's own settings, from a file in the contract's JSON form, within the bounds that requests have. Throws with every problem and its path. */
export function parseContextSettings(json: string): ContextSettings {
  const value = JSON.parse(json) as JsonValue;
  try {
    const schema = messageDescriptor("ContextSettings");
    const settings = ContextSettings.decode(toBinary(schema, fromJson(schema, value)));
    check(settings);
    return settings;
  } catch (error) {
    throw new Error(`the context settings cannot be used: ${problemsOf(error)}`);
  }
}

function problemsOf(error: unknown): string {
  if (!(error instanceof QuireError)) return (error as Error).message;
  return error.violations.map(({ field, description }) => `${field} ${description}`).join("; ");
}
