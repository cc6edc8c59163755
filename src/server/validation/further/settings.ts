import type {
  ContextSettings,
  ModelLimits,
  SummarizerList,
} from "../../../contract/gen/quire/v1/context_settings.js";
import { summarizerNames } from "../../../domain/summarizer-names.js";
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
  // A list in the contract would have to grow with every summarizer; and who mistypes a name wants to read which there are.
  SummarizerList: (checker: Checker, { names }: SummarizerList) => {
    names.forEach((name, at) => {
      if ((summarizerNames as readonly string[]).includes(name)) return;
      checker.wrong(`names[${at}]`, `is no summarizer: there are ${summarizerNames.join(", ")}`);
    });
  },
  // Models are looked up without their date, so limits under a dated name would never be found. A pattern cannot say what a name may not end in.
  ModelLimits: (checker: Checker, { model }: ModelLimits) => {
    if (dateSuffix.test(model)) checker.wrong("model", "ends in a date: name the model without it");
  },
};
