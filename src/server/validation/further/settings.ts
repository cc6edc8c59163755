import type { ContextSettings, ModelLimits } from "../../../contract/gen/quire/v1/context_settings.js";
import type { Checker } from "../checker.js";
import { checkOnce } from "./once.js";

const dateSuffix = /-\d{8}$/;

export const settingsChecks = {
  // Names once; and the same message has a name in one place and none in the other.
  ContextSettings: (checker: Checker, { modelLimits, defaultLimits }: ContextSettings) => {
    checkOnce(checker, "model_limits", modelLimits, "model", ({ model }) => model, "has limits already");
    const nameless = modelLimits.findIndex(({ model }) => model === "");
    if (nameless >= 0) checker.wrong(`model_limits[${nameless}].model`, "is required");
    if (defaultLimits && defaultLimits.model !== "") checker.wrong("default_limits.model", "must be empty");
  },
  // Models are looked up without their date, so limits under a dated name would never be found. A pattern cannot say what a name may not end in.
  ModelLimits: (checker: Checker, { model }: ModelLimits) => {
    if (dateSuffix.test(model)) checker.wrong("model", "ends in a date: name the model without it");
  },
};
