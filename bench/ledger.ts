import { fork } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { compiledModule } from "../src/config/package-root.js";
import { streamHistory } from "../src/ledger/stream-history.js";
import { SqliteAdapterFactory } from "../src/storage/driver/sqlite-adapter.js";
import { serverCpu, WireClient } from "./assembly-client.js";
import { atMost, type Figure } from "./figure.js";
import { LedgerFixture, tenantId } from "./ledger-fixture.js";
import { elapsedMs, interleaved, progress } from "./measure.js";
import { RawLedger } from "./raw-ledger.js";

/** The ledger against its floors: the raw driver, and the same bytes sent as they are. */
export async function run(): Promise<Figure[]> {
  return [...(await writing()), ...(await streaming()), ...(await growing())];
}

async function writing(): Promise<Figure[]> {
  progress("writing: one writer, 32 writers, the raw driver");
  const fixture = await LedgerFixture.open();
  const raw = new RawLedger(join(fixture.folder, "raw.db"));
  const turnsPerRound = 200;
  const heads = new Map<string, string>();
  const tookMs = { lone: [] as number[], many: [] as number[] };
  const write = async (session: string, turns: number, took?: number[]) => {
    heads.set(session, await fixture.record(session, heads.get(session) ?? "", turns, 400, took));
  };
  const labels = Array.from({ length: 32 }, (_, index) => `writer-${index}`);
  for (const label of ["lone", ...labels]) await fixture.session(label);
  await write("lone", 100);
  const perTurn = await interleaved(9, {
    lone: async () => (await elapsedMs(() => write("lone", turnsPerRound, tookMs.lone))) / turnsPerRound,
    raw: async () => (await elapsedMs(async () => raw.append(turnsPerRound, 400))) / turnsPerRound,
    many: async () =>
      (await elapsedMs(() =>
        Promise.all(labels.map((label) => write(label, turnsPerRound / 4, tookMs.many))),
      )) /
      (turnsPerRound * 8),
  });
  raw.close();
  await fixture.close();
  return [
    { figure: "ledger: one turn by one writer", value: perTurn.lone, unit: "ms" },
    {
      figure: "ledger: one turn by the raw driver, same durability",
      value: perTurn.raw,
      unit: "ms",
      note: "the floor",
    },
    { figure: "ledger: one turn by 32 writers at once", value: perTurn.many, unit: "ms" },
    atLeast("ledger: rate of one writer / raw driver", perTurn.raw / perTurn.lone, 0.35),
    atLeast("ledger: rate of 32 writers / one writer", perTurn.lone / perTurn.many, 3.5),
    { figure: "ledger: p99 of a turn, one writer", value: p99(tookMs.lone), unit: "ms" },
    { figure: "ledger: p99 of a turn, 32 writers", value: p99(tookMs.many), unit: "ms" },
  ];
}

const streamsPerSample = 4;

async function streaming(): Promise<Figure[]> {
  progress("streaming: 10,000 messages of 800 B, warm, cold, and pre-encoded");
  const child = fork(compiledModule("bench/stream-server.ts"), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [{ port, floorPort }] = (await once(child, "message")) as [{ port: number; floorPort: number }];
  const service = new WireClient(`127.0.0.1:${port}`);
  const floor = new WireClient(`127.0.0.1:${floorPort}`);
  const nothing = Buffer.alloc(0);
  const cpuOf = (client: WireClient, path: string) => () =>
    serverCpu(child, streamsPerSample, async () => {
      const bytes = (await client.stream(path, nothing)).reduce((sum, batch) => sum + batch.length, 0);
      if (bytes < 8_000_000) throw new Error(`${path} sent only ${bytes} bytes`);
    });
  const candidates = {
    warm: cpuOf(service, "/bench/Warm"),
    cold: cpuOf(service, "/bench/Cold"),
    floor: cpuOf(floor, "/bench/PreEncoded"),
  };
  // As in a server that has run for a while: its code is compiled.
  await interleaved(10, candidates);
  const cpu = await interleaved(15, candidates);
  service.close();
  floor.close();
  child.send("end");
  await once(child, "exit");
  return [
    {
      figure: "ledger: server CPU of StreamHistory, pre-encoded",
      value: cpu.floor,
      unit: "ms",
      note: "the floor",
    },
    { figure: "ledger: server CPU of StreamHistory, warm", value: cpu.warm, unit: "ms" },
    { figure: "ledger: server CPU of StreamHistory, cold", value: cpu.cold, unit: "ms" },
    atMost("ledger: StreamHistory CPU warm / pre-encoded", cpu.warm / cpu.floor, 1.5),
    atMost("ledger: StreamHistory CPU cold / pre-encoded", cpu.cold / cpu.floor, 4),
  ];
}

async function growing(): Promise<Figure[]> {
  const short = await grown(1_000);
  const long = await grown(100_000);
  const read = (fixture: LedgerFixture) => async () => {
    const rounds = 20;
    const ms = await elapsedMs(async () => {
      for (let round = 0; round < rounds; round++) {
        const command = {
          thread: { $case: "session" as const, value: "grown" },
          afterTurnId: "",
          lastTurns: 100,
          effective: false,
        };
        for await (const batch of streamHistory(fixture.ledger, tenantId, command)) void batch;
      }
    });
    return ms / rounds;
  };
  await read(short.fixture)();
  await read(long.fixture)();
  const perRead = await interleaved(15, { short: read(short.fixture), long: read(long.fixture) });
  await short.fixture.close();
  await long.fixture.close();
  return [
    { figure: "ledger: last 100 of 1,000 turns, cold", value: perRead.short, unit: "ms" },
    { figure: "ledger: last 100 of 100,000 turns, cold", value: perRead.long, unit: "ms" },
    atMost("ledger: last 100 turns, 100,000 / 1,000", perRead.long / perRead.short, 1.5),
    { figure: "ledger: bytes on disk per turn at 1,000 turns", value: short.bytesPerTurn, unit: "B" },
    { figure: "ledger: bytes on disk per turn at 100,000 turns", value: long.bytesPerTurn, unit: "B" },
    atMost("ledger: bytes on disk per turn, 100,000 / 1,000", long.bytesPerTurn / short.bytesPerTurn, 1.2),
  ];
}

/** A thread of so many turns of two messages of 200 B, and what it takes on disk when the log is folded in. */
async function grown(
  turns: number,
): Promise<{ readonly fixture: LedgerFixture; readonly bytesPerTurn: number }> {
  const fixture = await LedgerFixture.open(0);
  await fixture.session("grown");
  const step = 10_000;
  let head = "";
  for (let done = 0; done < turns; done += step) {
    progress(`growing: ${done.toLocaleString("en")} of ${turns.toLocaleString("en")} turns`);
    head = await fixture.record("grown", head, Math.min(step, turns - done), 200);
  }
  const path = join(fixture.folder, "quire.db");
  const adapter = await new SqliteAdapterFactory({ path, mode: "writer" }).connect();
  await adapter.executeScript("PRAGMA wal_checkpoint(TRUNCATE)");
  await adapter.dispose();
  return { fixture, bytesPerTurn: statSync(path).size / turns };
}

function atLeast(figure: string, value: number, limit: number): Figure {
  return { figure, value, limit, holds: value >= limit, note: "at least" };
}

function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)]!;
}
