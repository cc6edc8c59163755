import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { type Database, openDatabase } from "../../../src/storage/database.js";
import {
  listSessionRows,
  type MetadataFilter,
  type SessionFilter,
} from "../../../src/storage/ledger/list-sessions.js";
import { noLease, type SessionRow, sessionShape } from "../../../src/storage/ledger/rows.js";
import { rowsOf } from "../../../src/storage/ledger/session-metadata.js";
import type { Sql, SqlValue } from "../../../src/storage/sql.js";
import { startPostgres } from "../../support/postgres.js";
import { tempFolder } from "../../support/temp-folder.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const tenantId = "t";
const id = (at: number) => `id-${String(at).padStart(6, "0")}`;

const long = "long ".repeat(300);
const filler = "0".repeat(600);

/** Every session has a user; every third is of an environment whose name is as short, as long or as odd as it may be. */
function metadataOf(at: number): Record<string, string> {
  if (at % 3 !== 0) return { user: String(at % 7) };
  const env = ["prod-eu", "prod-us", "Prod", "pröd", "", `${long}a`, `${long}b`, `${filler}1`][(at / 3) % 8]!;
  return { user: String(at % 7), env, ...(at > 2_500 ? { "rare key": "%" } : {}) };
}

/** The oldest are called old, and then two thousand others new or Old or öld; every tenth is a sub-agent of one of three. */
const sessions: readonly SessionRow[] = Array.from({ length: 2_600 }, (_, at) => {
  const name = at < 300 ? "old" : (["new", "Old", "öld"][at % 3] as string);
  const isSubAgent = at % 10 === 0;
  return {
    tenantId,
    id: id(at),
    label: `${name}-${at}`,
    headTurnId: null,
    headBranchId: null,
    headDepth: 0,
    headSequence: 0,
    workspacePath: "",
    metadataJson: JSON.stringify(metadataOf(at)),
    forkedFromTurnId: null,
    forkedFromSessionId: null,
    forkCount: 0,
    parentSessionId: isSubAgent ? id(1 + (at % 3)) : null,
    parentTurnId: null,
    spawningCallId: null,
    task: null,
    taskStatus: isSubAgent ? (at % 100 === 0 ? "RUNNING" : "COMPLETED") : null,
    defaultsJson: null,
    toolsJson: "[]",
    reportedLimitsJson: null,
    ...noLease,
    createdUs: 0n,
    updatedUs: 0n,
  };
});

async function openFilled(url: string): Promise<Database> {
  const database = await openDatabase({ url, poolSize: 2 });
  onTestFinished(() => database.close());
  await database.sqlTransaction(async (sql) => {
    for (let at = 0; at < sessions.length; at += 100) {
      const args: SqlValue[] = [];
      for (const row of sessions.slice(at, at + 100)) sessionShape.args(row, args);
      await sql.execute(sessionShape.insertSql(args.length / sessionShape.columns.length, sql.dialect), args);
    }
  });
  await database.transaction(async (tx) => {
    const rows = sessions.flatMap(({ id: sessionId }, at) =>
      rowsOf(tenantId, sessionId, Object.entries(metadataOf(at))),
    );
    for (let at = 0; at < rows.length; at += 1_000)
      await tx.sessionMetadata.createMany({ data: rows.slice(at, at + 1_000) });
  });
  return database;
}

const filters: readonly Partial<SessionFilter>[] = [
  {},
  { labelPrefix: "old-" },
  { labelPrefix: "old-29" },
  { labelPrefix: "Old-" },
  { labelPrefix: "öl" },
  { labelPrefix: "%" },
  { labelPrefix: "old-", parentSessionId: id(1) },
  { parentSessionId: id(2) },
  { taskStatus: "RUNNING" },
  { parentSessionId: id(3), taskStatus: "RUNNING" },
  { labelPrefix: "new-", taskStatus: "COMPLETED" },
  { metadata: [{ key: "user" }] },
  { metadata: [{ key: "rare key" }] },
  { metadata: [{ key: "env", value: { $case: "equals", value: "prod-eu" } }] },
  { metadata: [{ key: "env", value: { $case: "equals", value: "" } }] },
  { metadata: [{ key: "env", value: { $case: "equals", value: `${long}b` } }] },
  { metadata: [{ key: "env", value: { $case: "equals", value: long } }] },
  { metadata: [{ key: "env", value: { $case: "prefix", value: "prod-" } }] },
  { metadata: [{ key: "env", value: { $case: "prefix", value: "pr" } }] },
  { metadata: [{ key: "env", value: { $case: "prefix", value: "" } }] },
  { metadata: [{ key: "env", value: { $case: "prefix", value: "long long" } }] },
  { metadata: [{ key: "rare key", value: { $case: "prefix", value: "%" } }] },
  { metadata: [{ key: "user", value: { $case: "equals", value: "3" } }, { key: "env" }] },
  { metadata: [{ key: "user", value: { $case: "prefix", value: "3" } }], labelPrefix: "Old-" },
  { metadata: [{ key: "user", value: { $case: "equals", value: "3" } }], taskStatus: "COMPLETED" },
  { metadata: [{ key: "nobody has it" }] },
];

/** What the rule says, in plain words. */
function expected(filter: SessionFilter): string[] {
  const { labelPrefix, parentSessionId, taskStatus, metadata, beforeId, limit } = filter;
  return sessions
    .filter((row) => row.label.startsWith(labelPrefix))
    .filter((row) => parentSessionId === "" || row.parentSessionId === parentSessionId)
    .filter((row) => taskStatus === "" || row.taskStatus === taskStatus)
    .filter((row) => metadata.every((entry) => matches(JSON.parse(row.metadataJson), entry)))
    .filter((row) => beforeId === "" || row.id < beforeId)
    .map((row) => row.id)
    .reverse()
    .slice(0, limit);
}

function matches(metadata: Readonly<Record<string, string>>, { key, value }: MetadataFilter): boolean {
  const found = metadata[key];
  if (found === undefined || value === undefined) return found !== undefined;
  return value.$case === "equals" ? found === value.value : found.startsWith(value.value);
}

const every: SessionFilter = {
  labelPrefix: "",
  parentSessionId: "",
  taskStatus: "",
  metadata: [],
  beforeId: "",
  limit: 70,
};

describe.each([
  ["SQLite", async () => `file:${join(tempFolder(), "quire.db")}`, false],
  ["PostgreSQL", async () => (await postgres?.createDatabase()) ?? "", postgres === undefined],
] as const)("sessions are listed on %s", (_, createUrl, skip) => {
  test.skipIf(skip)("newest first, those and only those that the filter keeps, page by page", async () => {
    const { sqlReader } = await openFilled(await createUrl());
    for (const partial of filters) {
      for (const beforeId of ["", id(2_000), id(250)]) {
        const filter = { ...every, ...partial, beforeId };
        const found = await listSessionRows(sqlReader, tenantId, filter);
        expect(found.map(({ row }) => row.id)).toEqual(expected(filter));
        expect(found.every(({ row }) => row.toolsJson === null)).toBe(true);
      }
    }
  });
});

test("no list looks at all sessions, or sorts them", async () => {
  const { sqlReader } = await openFilled(`file:${join(tempFolder(), "quire.db")}`);
  const plans: string[] = [];
  const explained: Sql = {
    ...sqlReader,
    async query(text, args) {
      const plan = await sqlReader.query(`EXPLAIN QUERY PLAN ${text}`, args);
      plans.push(plan.map((row) => row[3]).join("; "));
      return sqlReader.query(text, args);
    },
  };
  for (const partial of filters) await listSessionRows(explained, tenantId, { ...every, ...partial });
  expect(plans.filter((plan) => /SCAN [sm]\b/.test(plan))).toEqual([]);
  const sorted = plans.filter((plan) => plan.includes("TEMP B-TREE FOR ORDER BY"));
  // Where few sessions have the prefix, these few are sorted.
  expect(sorted.every((plan) => plan.includes(" AND id=?"))).toBe(true);
});
