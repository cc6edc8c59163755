import { BodyFormat } from "../../contract/gen/quire/v1/rendering.js";
import { QuireError } from "../../errors/quire-error.js";
import { type Catalogue, findModel } from "../../models/catalogue.js";
import { type Family, familyOf } from "../../rendering/render.js";

/** Whose models an API serves. Chat Completions are spoken by many, for any model. */
const served: { readonly [Format in BodyFormat]?: { readonly family: Family; readonly api: string } } = {
  [BodyFormat.ANTHROPIC_MESSAGES]: { family: "anthropic", api: "Anthropic Messages" },
  [BodyFormat.OPENAI_RESPONSES]: { family: "openai", api: "OpenAI Responses" },
  [BodyFormat.GEMINI]: { family: "google", api: "Gemini" },
};

/** Refuses a body for an API that does not have the model: its provider would. A name that nobody knows may be anybody's. */
export function requireOwnModel(
  catalogue: Catalogue,
  model: string,
  format: BodyFormat,
  field: string,
): void {
  const asked = served[format];
  const { entry, known } = findModel(catalogue, model);
  const owner = known ? familyOf(entry.provider) : undefined;
  if (!asked || owner === undefined || owner === asked.family) return;
  const description = `is for ${asked.api}, which does not serve ${model}: that is a model of ${entry.provider}`;
  throw QuireError.field("INVALID_FIELD", field, description, { model });
}
