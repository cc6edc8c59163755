import { buildContext } from "../src/assembly/build-context.js";
import type { AssemblyDeps } from "../src/assembly/deps.js";
import { createLedger } from "../src/ledger/ledger.js";
import { AssemblyFixture, contextRequest, lengths, messagesPerTurn, tenantId } from "./assembly-fixture.js";
import { overTheWire } from "./assembly-wire.js";
import { atMost, type Figure } from "./figure.js";
import { cpuMs, elapsedMs, interleaved, median, progress } from "./measure.js";

/** Assembly against its floor: in process and over the wire. */
export async function run(): Promise<Figure[]> {
  const fixture = await AssemblyFixture.open();
  try {
    return [
      ...(await againstFloor(fixture)),
      ...(await growing(fixture)),
      ...(await latency(fixture)),
      ...(await overTheWire(fixture.folder)),
    ];
  } finally {
    await fixture.close();
  }
}

const contextsPerSample = 32;
/** As in a process that has run for a while: its code is compiled. */
const warmUpContexts = 3_000;
const budgets = [
  { name: "128k", tokens: 128_000, warmLimit: 1 },
  { name: "32k", tokens: 32_000, warmLimit: 2 },
] as const;
const coldLimit = 4;

/** The CPU of a context in ms, with its receipt stored. */
function contextCpu(deps: AssemblyDeps, session: string, budget: number): () => Promise<number> {
  const request = contextRequest(session, budget);
  return async () => {
    const total = await cpuMs(async () => {
      for (let at = 0; at < contextsPerSample; at++) await buildContext(deps, tenantId, request);
      await deps.receipts.flush();
    });
    return total / contextsPerSample;
  };
}

async function againstFloor(fixture: AssemblyFixture): Promise<Figure[]> {
  const { assembly, database } = fixture.engine;
  const coldLedger = createLedger({ ...assembly.ledger, database, historyCacheBytes: 0, watchPollMs: 1_000 });
  const cold: AssemblyDeps = { ...assembly, ledger: coldLedger };
  const figures: Figure[] = [];
  for (let at = 0; at < warmUpContexts; at++) {
    await buildContext(
      assembly,
      tenantId,
      contextRequest(String(lengths[at % lengths.length]), budgets[1].tokens),
    );
  }
  for (const length of lengths) {
    for (const { name, tokens, warmLimit } of budgets) {
      const of = `${name}, ${length.toLocaleString("en")} turns`;
      progress(`assembly: ${of}`);
      const upTo = length * messagesPerTurn;
      const floor = async () => {
        const total = await cpuMs(async () => {
          for (let at = 0; at < contextsPerSample; at++) fixture.floor.read(upTo, tokens);
        });
        return total / contextsPerSample;
      };
      const candidates = {
        floor,
        warm: contextCpu(assembly, String(length), tokens),
        cold: contextCpu(cold, String(length), tokens),
      };
      await interleaved(2, candidates);
      const cpu = await interleaved(9, candidates);
      const { rest } = await buildContext(assembly, tenantId, contextRequest(String(length), tokens));
      const kept = rest.tokenBudget!.used!.history / fixture.floor.read(upTo, tokens).tokens;
      figures.push(
        { figure: `assembly: floor's CPU, ${of}`, value: cpu.floor, unit: "ms", note: "the floor" },
        { figure: `assembly: tokens of history / the floor's, ${of}`, value: kept },
        atMost(`assembly: CPU warm / floor, ${of}`, cpu.warm / cpu.floor, warmLimit),
        atMost(`assembly: CPU cold / floor, ${of}`, cpu.cold / cpu.floor, coldLimit),
      );
    }
  }
  return figures;
}

const smallBudget = 12_000;

async function growing({ engine }: AssemblyFixture): Promise<Figure[]> {
  progress("assembly: 10,000 turns against 100");
  const candidates = {
    short: contextCpu(engine.assembly, String(lengths[0]), smallBudget),
    long: contextCpu(engine.assembly, String(lengths[2]), smallBudget),
  };
  await interleaved(3, candidates);
  const cpu = await interleaved(15, candidates);
  return [atMost("assembly: CPU warm, 10,000 / 100 turns", cpu.long / cpu.short, 1.3)];
}

async function latency({ engine }: AssemblyFixture): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { name, tokens } of budgets) {
    const request = contextRequest(String(lengths[2]), tokens);
    const samples: number[] = [];
    for (let at = 0; at < 200; at++) {
      samples.push(await elapsedMs(() => buildContext(engine.assembly, tenantId, request)));
    }
    figures.push({
      figure: `assembly: p50 in process, ${name}, 10,000 turns`,
      value: median(samples),
      unit: "ms",
      note: "SomaAgent's target: 2 ms",
    });
  }
  return figures;
}
