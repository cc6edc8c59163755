import {
  AssemblyServiceService,
  BuildContextRequest,
} from "../../src/contract/gen/quire/v1/assembly_service.js";
import { CapsuleServiceService, PutCapsuleRequest } from "../../src/contract/gen/quire/v1/capsule_service.js";
import * as ledger from "../../src/contract/gen/quire/v1/ledger_service.js";
import { text } from "../assembly-conversation.js";
import { Caller, type Tally } from "./caller.js";
import { echoMethod, healthMethod } from "./echo-method.js";
import { userTurn } from "./target.js";

/**
 * A caller who has nothing to do with the attacks. It makes small calls at a fixed pace, whether or not the ones before were answered, and calls
 * the echo server just as often.
 */

const [address, echoAddress] = process.argv.slice(2) as [string, string];
const { LedgerServiceService: methods } = ledger;
const deadlineMs = 15_000;
const paceMs = 10;
/** An answer within this time is one as on a quiet server; the machine itself is sometimes late. */
const quickMs = 100;

const tally: Tally = {};
const service = new Caller(address, tally, deadlineMs);
const echo = new Caller(echoAddress, {}, deadlineMs);
let waits: { service: number[]; echo: number[] } = { service: [], echo: [] };

await service.must(methods.createSession, ledger.CreateSessionRequest.create({ label: "probe" }));
await service.must(methods.recordTurn, userTurn("probe", "The parcel left the house by the river."));
await service.must(
  CapsuleServiceService.putCapsule,
  PutCapsuleRequest.fromPartial({ name: "probe", body: { persona: { corePrompt: "You help." } } }),
);

const context = BuildContextRequest.fromPartial({
  context: {
    session: "probe",
    capsule: "probe",
    model: "gpt-4o",
    event: { content: [text("Where is it?")] },
  },
});
const probes = [
  () => service.call(methods.getSession, ledger.GetSessionRequest.create({ session: "probe" })),
  () => service.call(methods.recordTurn, userTurn("probe", "And then?", ledger.OnHeadMoved.BRANCH)),
  () => service.call(AssemblyServiceService.buildContext, context),
  () => service.call(healthMethod, Buffer.alloc(0)),
];

async function timed(call: () => Promise<unknown>, to: number[]): Promise<number> {
  const start = performance.now();
  await call();
  const ms = performance.now() - start;
  to.push(ms);
  return ms;
}

let timer: NodeJS.Timeout | undefined;
let under: Promise<unknown>[] = [];
let count = 0;
function tick(): void {
  const isEcho = count++ % 2 === 0;
  const probe = isEcho
    ? () => echo.call(echoMethod, Buffer.from("echo"))
    : probes[(count >> 1) % probes.length]!;
  under.push(timed(probe, isEcho ? waits.echo : waits.service));
}

process.on("message", async (message) => {
  if (message === "start") {
    waits = { service: [], echo: [] };
    for (const end of Object.keys(tally)) delete tally[end];
    under = [];
    timer = setInterval(tick, paceMs);
    process.send?.({});
  } else if (message === "stop") {
    clearInterval(timer);
    await Promise.all(under);
    process.send?.({ waits, ends: { ...tally } });
  } else if (message === "recover") {
    process.send?.({ recoveredMs: await recover() });
  }
});
process.on("disconnect", () => process.exit(0));
process.send?.({ ready: true });

/** How long it takes until every kind of call is quick again, three times in a row. */
async function recover(): Promise<number> {
  const start = performance.now();
  let [since, rounds] = [start, 0];
  while (rounds < 3 && performance.now() - start < deadlineMs) {
    const times: number[] = [];
    for (const probe of probes) await timed(probe, times);
    rounds = times.every((ms) => ms <= quickMs) ? rounds + 1 : 0;
    if (rounds === 0) since = performance.now();
  }
  return since - start;
}
