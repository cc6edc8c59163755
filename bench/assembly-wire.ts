import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
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
/** So many that each sample has its share of collected garbage. */
const callsPerSample = 400;
const deltaCallsPerSample = 24;
/** A server is seldom alone with one caller, who lets it fall asleep between two calls. */
const callerCounts = [1, 4] as const;
/** A server that has run for a while: its code is compiled. */
const warmUpCalls = 3_000;
const budgets = [
  { name: "128k", tokens: 128_000, limit: 1.3 },
  { name: "32k", tokens: 32_000, limit: 2 },
] as const;
const deltaBudget = 32_000;
const [short, , long] = lengths;

/** A server in a process of its own, and who calls it. */
class Served {
  private constructor(
    readonly child: ChildProcess,
    readonly client: WireClient,
  ) {}

  static async start(file: string, args: readonly string[] = []): Promise<Served> {
    const child = fork(compiledModule(file), args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const [{ address }] = (await once(child, "message")) as [{ address: string }];
    return new Served(child, new WireClient(address));
  }

  async end(): Promise<void> {
    this.client.close();
    this.child.send("end");
    await once(this.child, "exit");
  }
}

/** What goes over the wire, by the CPU that it costs the server. */
export async function overTheWire(folder: string): Promise<Figure[]> {
  progress("assembly: over the wire");
  const service = await Served.start("bench/assembly-server.ts", [folder]);
  const floor = await Served.start("bench/assembly-floor-server.ts");
  try {
    return [...(await whole(folder, service, floor)), ...(await delta(service))];
  } finally {
    await service.end();
    await floor.end();
  }
}

/** Names the files of these bytes, as the floor finds them. */
function keep(folder: string, name: string, messages: readonly Buffer[]): Metadata {
  const paths = messages.map((bytes, index) => {
    const path = join(folder, `${name}-${index}`);
    writeFileSync(path, bytes);
    return path;
  });
  const which = new Metadata();
  which.set("files", paths.join(","));
  return which;
}

async function whole(folder: string, service: Served, floor: Served): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { name, tokens, limit } of budgets) {
    const context = contextRequest(String(long), tokens);
    const build = encoded(wire.BuildContextRequest, { context });
    const assemble = encoded(wire.AssembleRequest, { context });
    const built = () => service.client.unary(paths.buildContext, build);
    const assembled = () => service.client.stream(paths.assemble, assemble);
    const message = keep(folder, `built-${tokens}`, [await built()]);
    const messages = keep(folder, `assembled-${tokens}`, await assembled());
    const sent = () => floor.client.unary(paths.preEncoded, build, message);
    const streamed = () => floor.client.stream(paths.preEncodedStream, assemble, messages);
    for (const call of [built, assembled, sent, streamed])
      for (let calls = 0; calls < warmUpCalls; calls++) await call();
    for (const callers of callerCounts) {
      const cpuOf =
        ({ child }: Served, call: () => Promise<unknown>) =>
        () =>
          serverCpu(child, callsPerSample, call, callers);
      const candidates = {
        built: cpuOf(service, built),
        sent: cpuOf(floor, sent),
        assembled: cpuOf(service, assembled),
        streamed: cpuOf(floor, streamed),
      };
      await interleaved(1, candidates);
      const cpu = await interleaved(11, candidates);
      const of = callers === 1 ? name : `${name}, ${callers} callers at once`;
      const floorOf = (figure: string, value: number): Figure => ({
        figure: `assembly: server CPU of ${figure}, ${of}`,
        value,
        unit: "ms",
        note: "the floor",
      });
      figures.push(
        floorOf("the same bytes pre-encoded", cpu.sent),
        floorOf("the same stream pre-encoded", cpu.streamed),
        atMost(`assembly: server CPU of BuildContext / pre-encoded, ${of}`, cpu.built / cpu.sent, limit),
        atMost(`assembly: server CPU of Assemble / pre-encoded, ${of}`, cpu.assembled / cpu.streamed, limit),
      );
    }
  }
  return figures;
}

/** Forks of each thread get one more turn; then each is assembled by callers who hold the context before it. */
async function delta({ child, client }: Served): Promise<Figure[]> {
  const forksOf = (length: number) => new GrowingForks(client, length, deltaCallsPerSample, deltaBudget);
  const threads = { short: forksOf(short), long: forksOf(long) };
  for (const thread of Object.values(threads)) await thread.fork();
  const bytes = { short: 0, long: 0 };
  const sample = (which: "short" | "long") => async () => {
    await threads[which].grow();
    let at = 0;
    return serverCpu(child, deltaCallsPerSample, async () => {
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
