import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import * as wire from "../../src/contract/gen/quire/v1/ledger_service.js";
import { Random } from "../model/random.js";
import { call } from "../support/server.js";
import { databaseFaults } from "./support/database-faults.js";
import { KeptSession, type SentTurn } from "./support/kept-session.js";
import { KillWriter, type Tally } from "./support/kill-writer.js";
import { KillableServer } from "./support/killable-server.js";

const seed = Number(process.env.QUIRE_KILL_SEED ?? 1);
const kills = Number(process.env.QUIRE_KILLS ?? 60);
const ownWriters = 8;
const sharedWriters = 3;
/** From the start of the process to its first answer, on a machine with other things to do. */
const startBoundMs = 120_000;

test(`kill -9: after each of ${kills} kills all that was acknowledged is there and whole`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "quire-kill-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const random = new Random(seed);
  const tally: Tally = { present: 0, absent: 0 };
  let duringStart = 0;
  const starts: number[] = [];
  let server = new KillableServer(folder);
  onTestFinished(() => server.kill());
  const firstStartMs = await server.ready(startBoundMs);
  const writers = await openWriters(server, random);
  const sessions = [...new Set(writers.map((writer) => writer.session))];

  for (let killed = 0; killed < kills; killed++) {
    await writeUntilKilled(server, writers, 20 + random.below(1_200));
    // Some die while they open the database that the one before them left.
    while (random.chance(0.1)) {
      server = new KillableServer(folder);
      await new Promise((next) => setTimeout(next, random.below(600)));
      await server.kill();
      duringStart++;
      killed++;
    }
    server = new KillableServer(folder);
    starts.push(await server.ready(startBoundMs));
    await verify(server, sessions, writers, tally);
  }

  const ledger = server.connect();
  let verified = 0;
  for (const session of sessions) {
    await session.verify(ledger, []);
    verified += await session.verifyAll(ledger);
  }
  ledger.close();
  expect(await server.stop()).toBe(0);
  expect(await databaseFaults(folder)).toEqual([]);

  const acknowledged = sessions.reduce((sum, session) => sum + session.acknowledged, 0);
  const calls = writers.reduce((sum, writer) => sum + writer.calls, 0);
  print([
    ["seed", seed],
    ["kills", starts.length + duringStart],
    ["of them while starting", duringStart],
    ["calls", calls],
    ["turns acknowledged", acknowledged],
    ["turns verified", verified],
    ["unacknowledged, but present", tally.present],
    ["unacknowledged and absent", tally.absent],
    ["first start, ms", Math.round(firstStartMs)],
    ["start after a kill, median ms", Math.round(starts.sort((a, b) => a - b)[starts.length >> 1]!)],
    ["start after a kill, slowest ms", Math.round(Math.max(...starts))],
  ]);
  expect(verified).toBe(acknowledged);
});

async function openWriters(server: KillableServer, random: Random): Promise<KillWriter[]> {
  const ledger = server.connect();
  const open = async () => {
    const request = wire.CreateSessionRequest.create();
    const { session } = await call<wire.CreateSessionRequest, wire.CreateSessionResponse>(
      ledger,
      ledger.createSession,
      request,
    );
    return new KeptSession(session!.id);
  };
  const shared = await open();
  const writers: KillWriter[] = [];
  for (let index = 0; index < ownWriters; index++) {
    writers.push(new KillWriter(`own-${index}`, await open(), false, random));
  }
  for (let index = 0; index < sharedWriters; index++) {
    writers.push(new KillWriter(`shared-${index}`, shared, true, random));
  }
  ledger.close();
  return writers;
}

/** All writers at once, each over its own connection, until the server dies under them. */
async function writeUntilKilled(server: KillableServer, writers: readonly KillWriter[], delayMs: number) {
  let isKilled = false;
  const clients = writers.map(() => server.connect());
  const running = Promise.all(writers.map((writer, index) => writer.run(clients[index]!, () => isKilled)));
  // What fails before the kill is a fault, and ends the test.
  await Promise.race([running, new Promise((next) => setTimeout(next, delayMs))]);
  isKilled = true;
  await server.kill();
  await running;
  for (const client of clients) client.close();
}

async function verify(
  server: KillableServer,
  sessions: readonly KeptSession[],
  writers: readonly KillWriter[],
  tally: Tally,
) {
  const ledger = server.connect();
  for (const session of sessions) {
    const own = writers.filter((writer) => writer.session === session);
    const maybe = new Map<SentTurn, KillWriter>();
    for (const writer of own) {
      const turn = writer.maybe;
      if (turn) maybe.set(turn, writer);
    }
    const present = await session.verify(ledger, [...maybe.keys()]);
    const found = new Map([...present].map(([turn, turnId]) => [maybe.get(turn), turnId]));
    for (const writer of own) await writer.settle(ledger, found.get(writer), tally);
  }
  ledger.close();
}

function print(rows: readonly (readonly [string, number])[]): void {
  console.log(rows.map(([name, value]) => `${name.padEnd(32)}${String(value).padStart(8)}`).join("\n"));
}
