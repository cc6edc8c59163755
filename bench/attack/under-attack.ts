import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServerFlags } from "./attack.js";
import { attackBoundMs, quietMs, recoveryBoundMs, setUpBoundMs } from "./bounds.js";
import type { Tally } from "./caller.js";
import { Child } from "./child.js";
import { attacks } from "./kinds.js";
import type { Stall } from "./stalls.js";

export interface Waits {
  /** Milliseconds of each probe. */
  readonly service: readonly number[];
  readonly echo: readonly number[];
}

interface Probed {
  readonly waits: Waits;
  readonly ends: Tally;
}

/** What an attack did to a server that was started for it. */
export interface Outcome {
  readonly quiet: Probed;
  readonly attacked: Probed;
  readonly restingMb: number;
  readonly largestMb: number;
  readonly stall: Stall;
  readonly echoStall: Stall;
  /** How the attacker's calls ended. */
  readonly tally: Tally;
  /** From the end of the attack until every probe was quick again; undefined when the server was lost. */
  readonly recoveredMs: number | undefined;
}

const nothing: Probed = { waits: { service: [], echo: [] }, ends: {} };

/** Undefined when the attack could not even be prepared. */
export async function underAttack(
  name: string,
  echo: Child,
  echoAddress: string,
): Promise<Outcome | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "quire-attack-"));
  const children: Child[] = [];
  const start = (...args: ConstructorParameters<typeof Child>) => {
    const child = new Child(...args);
    children.push(child);
    return child;
  };
  try {
    const attacker = start("attacker", [name]);
    const asked = await attacker.next<{ flags: ServerFlags }>(setUpBoundMs);
    const database = `file:${join(folder, "quire.db")}`;
    const flags = { listen: "127.0.0.1:0", database, logLevel: "silent", ...asked?.flags };
    const server = start("server", [JSON.stringify(flags)]);
    const address = (await server.next<{ address: string }>(setUpBoundMs))?.address;
    if (address === undefined) return undefined;
    const prober = start("prober", [address, echoAddress]);
    if (!(await prober.next(setUpBoundMs))) return undefined;
    attacker.tell({ address });
    if (!(await attacker.next(setUpBoundMs))) return undefined;
    const boundMs = attacks[name]!.boundMs ?? attackBoundMs;
    return await measure({ server, prober, attacker, echo }, boundMs);
  } finally {
    for (const child of children) await child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Cast {
  readonly server: Child;
  readonly prober: Child;
  readonly attacker: Child;
  readonly echo: Child;
}

async function measure({ server, prober, attacker, echo }: Cast, boundMs: number): Promise<Outcome> {
  const probing = async () => {
    prober.tell("start");
    await prober.next(setUpBoundMs);
  };
  const probed = async () => {
    prober.tell("stop");
    return (await prober.next<Probed>(recoveryBoundMs)) ?? nothing;
  };
  await probing();
  await sleep(quietMs);
  const quiet = await probed();

  const restingMb = server.memoryMb("VmRSS");
  let largestMb = restingMb;
  const sampling = setInterval(() => {
    largestMb = Math.max(largestMb, server.memoryMb("VmRSS"));
  }, 50);
  server.resetStall();
  echo.resetStall();
  await probing();
  attacker.tell("go");
  await attacker.next(boundMs + 3_000);
  await attacker.kill();
  const endedAt = performance.now();
  const attacked = await probed();
  prober.tell("recover");
  const recovered = await prober.next<{ recoveredMs: number }>(recoveryBoundMs);
  const totalMs = performance.now() - endedAt;
  clearInterval(sampling);
  const isLost = !server.isUp || recovered === undefined || totalMs > recoveryBoundMs;
  return {
    quiet,
    attacked,
    restingMb,
    largestMb: Math.max(largestMb, server.memoryMb("VmHWM")),
    stall: server.stall,
    echoStall: echo.stall,
    tally: attacker.tally,
    recoveredMs: isLost ? undefined : totalMs,
  };
}
