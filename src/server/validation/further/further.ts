import type { Checker } from "../checker.js";
import { assemblyChecks } from "./assembly.js";
import { capsuleChecks } from "./capsule.js";
import { ledgerChecks } from "./ledger.js";
import { memoryChecks } from "./memory.js";
import { messageChecks } from "./messages.js";
import { settingsChecks } from "./settings.js";
import { workspaceChecks } from "./workspace.js";

/** What a rule of the contract cannot say, by the message that it is about: applied wherever such a message stands in a request. */
export const further: ReadonlyMap<string, (checker: Checker, message: never) => void> = new Map(
  Object.entries({
    ...assemblyChecks,
    ...capsuleChecks,
    ...ledgerChecks,
    ...memoryChecks,
    ...messageChecks,
    ...settingsChecks,
    ...workspaceChecks,
  }),
);
