import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { Metadata } from "@grpc/grpc-js";
import { compiledModule } from "../src/config/package-root.js";
import * as wire from "../src/contract/gen/quire/v1/assembly_service.js";
import { encoded, serverCpu, WireClient } from "./assembly-client.js";
import { contextRequest, lengths } from "./assembly-fixture.js";
import { GrowingForks } from "./assembly-forks.js";
import { atMost, type Figure } from "./figure.js";
import { interleaved, progress } from "./measure.js";

const paths = {
  buildContext: wire.AssemblyServiceService.buildContext.path,
  assemble: wire.AssemblyServiceService.assemble.path,
  preEncoded: "/bench/PreEncoded",
  preEncodedStream: "/bench/PreEncodedStream",
};
const callsPerSample = 24;
/** A server that has run for a while: its code is compiled. */
const warmUpCalls = 3_000;
const budgets = [
  { name: "128k", tokens: 128_000, limit: 1.3 },
  { name: "32k", tokens: 32_000, limit: 2 },
] as const;
const deltaBudget = 32_000;
const [short, , long] = lengths;

/** What goes over the wire, by the CPU that it costs the server. */
export async function overTheWire(folder: string): Promise<Figure[]> {
  progress("assembly: over the wire");
  const contexts = JSON.stringify(budgets.map(({ tokens }) => [String(long), tokens]));
  const child = fork(compiledModule("bench/assembly-server.ts"), [folder, contexts], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [{ address, floorAddress }] = (await once(child, "message")) as [
    { address: string; floorAddress: string },
  ];
  const service = new WireClient(address);
  const floor = new WireClient(floorAddress);
  try {
    return [...(await whole(child, service, floor)), ...(await delta(child, service))];
  } finally {
    service.close();
    floor.close();
    child.send("end");
    await once(child, "exit");
  }
}

async function whole(child: ChildProcess, service: WireClient, floor: WireClient): Promise<Figure[]> {
  const figures: Figure[] = [];
  const calls = { built: 0, assembled: 0 };
  for (const { name, tokens, limit } of budgets) {
    const context = contextRequest(String(long), tokens);
    const build = encoded(wire.BuildContextRequest, { context });
    const assemble = encoded(wire.AssembleRequest, { context });
    const which = new Metadata();
    which.set("context", `${long}/${tokens}`);
    const built = () => service.unary(paths.buildContext, build);
    const assembled = () => service.stream(paths.assemble, assemble);
    for (; calls.built < warmUpCalls; calls.built++) await built();
    for (; calls.assembled < warmUpCalls; calls.assembled++) await assembled();
    const cpuOf = (call: () => Promise<unknown>) => () => serverCpu(child, callsPerSample, call);
    const candidates = {
      built: cpuOf(built),
      sent: cpuOf(() => floor.unary(paths.preEncoded, build, which)),
      assembled: cpuOf(assembled),
      streamed: cpuOf(() => floor.stream(paths.preEncodedStream, assemble, which)),
    };
    await interleaved(5, candidates);
    const cpu = await interleaved(21, candidates);
    const floorOf = (figure: string, value: number): Figure => ({
      figure: `assembly: server CPU of ${figure}, ${name}`,
      value,
      unit: "ms",
      note: "the floor",
    });
    figures.push(
      floorOf("the same bytes pre-encoded", cpu.sent),
      floorOf("the same stream pre-encoded", cpu.streamed),
      atMost(`assembly: server CPU of BuildContext / pre-encoded, ${name}`, cpu.built / cpu.sent, limit),
      atMost(`assembly: server CPU of Assemble / pre-encoded, ${name}`, cpu.assembled / cpu.streamed, limit),
    );
  }
  return figures;
}

/** Forks of each thread get one more turn; then each is assembled by callers who hold the context before it. */
async function delta(child: ChildProcess, service: WireClient): Promise<Figure[]> {
  const forksOf = (length: number) => new GrowingForks(service, length, callsPerSample, deltaBudget);
  const threads = { short: forksOf(short), long: forksOf(long) };
  for (const thread of Object.values(threads)) await thread.fork();
  const bytes = { short: 0, long: 0 };
  const sample = (which: "short" | "long") => async () => {
    await threads[which].grow();
    let at = 0;
    return serverCpu(child, callsPerSample, async () => {
      bytes[which] = await threads[which].assemble(at++);
    });
  };
  const candidates = { short: sample("short"), long: sample("long") };
  await interleaved(4, candidates);
  const cpu = await interleaved(15, candidates);
  return [
    {
      figure: `assembly: bytes of a delta, ${long.toLocaleString("en")} turns`,
      value: bytes.long,
      unit: "B",
    },
    {
      figure: `assembly: server CPU of a delta, ${long.toLocaleString("en")} turns`,
      value: cpu.long,
      unit: "ms",
    },
    atMost("assembly: bytes of a delta, 10,000 / 100 turns", bytes.long / bytes.short, 1.3),
    atMost("assembly: server CPU of a delta, 10,000 / 100 turns", cpu.long / cpu.short, 1.3),
  ];
}
