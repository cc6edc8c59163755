import type { Config } from "../../src/config/options.js";
import type { Target } from "./target.js";

export type ServerFlags = Readonly<Partial<Record<keyof Config, unknown>>>;

/** What an attacker does. */
export interface Attack {
  /** How long it may go on, where the usual time is too short to send it all. */
  readonly boundMs?: number;
  /** How long it may hold up the event loop, where that is less than usual. */
  readonly stallLimitMs?: number;
  /** The settings that the server is started with. */
  flags?(): Promise<ServerFlags>;
  /** Puts in place what the attack needs, while nothing is measured; gives the attack itself, which ends soon after the signal. */
  prepare(target: Target): Promise<(signal: AbortSignal) => Promise<unknown>>;
}
