import type { Config } from "../../src/config/options.js";
import type { Target } from "./target.js";

export type ServerFlags = Readonly<Partial<Record<keyof Config, unknown>>>;

/** What an attacker does. */
export interface Attack {
  /** The settings that the server is started with. */
  flags?(): Promise<ServerFlags>;
  /** Puts in place what the attack needs, while nothing is measured; gives the attack itself, which ends soon after the signal. */
  prepare(target: Target): Promise<(signal: AbortSignal) => Promise<unknown>>;
}
