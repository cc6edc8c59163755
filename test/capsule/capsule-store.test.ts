import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CapsuleReader } from "../../src/capsule/capsule-reader.js";
import { type CapsuleDeps, createCapsules } from "../../src/capsule/capsules.js";
import { deleteCapsule } from "../../src/capsule/delete-capsule.js";
import { type CapsuleAnswer, putCapsule } from "../../src/capsule/put-capsule.js";
import { listCapsules, listCapsuleVersions } from "../../src/capsule/read-capsules.js";
import { recordOutcome } from "../../src/capsule/record-outcome.js";
import { CapsuleBody } from "../../src/contract/gen/quire/v1/capsule.js";
import { Caches } from "../../src/domain/caches.js";
import { type Database, openDatabase } from "../../src/storage/database.js";
import type { WriteKey } from "../../src/storage/stored-answers.js";
import { startPostgres } from "../support/postgres.js";
import { body, learner } from "./capsule-calls.js";

function key<Answer>(method: string, tenantId = "default"): WriteKey<Answer> {
  const unused = () => {
    throw new Error("there is no request id, so nothing is kept");
  };
  return { tenantId, method, requestId: "", requestHash: Buffer.alloc(0), encode: unused, decode: unused };
}

const folder = await mkdtemp(join(tmpdir(), "quire-capsules-"));
const postgres = await startPostgres();
afterAll(async () => {
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

const databases: readonly (readonly [string, string])[] = [
  ["sqlite", `file:${join(folder, "quire.db")}`],
  ...(postgres ? [["postgresql", postgres.url] as const] : []),
];

describe.each(databases)("capsules on %s", (_, url) => {
  let database: Database;
  let capsules: CapsuleDeps;
  const put = (name: string, content = body(), tenantId = "default") =>
    putCapsule(capsules, key<CapsuleAnswer>("PutCapsule", tenantId), { name, body: content });

  beforeAll(async () => {
    database = await openDatabase({ url: url, poolSize: 12 });
    capsules = createCapsules({ database });
  });
  afterAll(() => database?.close());

  test("twenty writers to one capsule make twenty versions, without a gap", async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => put("crowd")));
    const versions = all.map(({ capsule }) => capsule!.version).sort((a, b) => a - b);
    expect(versions).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(new Set(all.map(({ capsule }) => capsule!.id)).size).toBe(1);
  });

  test("outcomes that come at once are all learned from", async () => {
    await put("pupil", learner());
    const outcome = {
      capsule: "pupil",
      needed: { system: 0, history: 9, memory: 1, tools: 0, buffer: 0 },
      score: 1,
    };
    await Promise.all(
      Array.from({ length: 10 }, () => recordOutcome(capsules, key("RecordOutcome"), outcome)),
    );
    const { capsule } = await capsules.reader.resolve("default", "pupil", 0);
    expect(capsule.version).toBe(11);
    expect(capsule.body!.learned!.outcomes).toBe(10);
  });

  test("puts and deletes at once leave whole capsules", async () => {
    const writes = Array.from({ length: 24 }, (_, index) =>
      index % 4 === 3
        ? deleteCapsule(capsules, key("DeleteCapsule"), "churn").catch((error) =>
            expect(error.reason).toBe("CAPSULE_NOT_FOUND"),
          )
        : put("churn"),
    );
    await Promise.all(writes);
    const { capsule } = await put("churn");
    const page = await listCapsuleVersions(capsules, "default", {
      name: "churn",
      pageSize: 100,
      pageToken: "",
    });
    const expected = Array.from({ length: capsule!.version }, (_, index) => capsule!.version - index);
    expect(page.capsules.map(({ version }) => version)).toEqual(expected);
    const stored = await database.reader.capsuleVersion.count({ where: { tenantId: "default" } });
    const listed = await database.reader.capsuleHead.aggregate({
      where: { tenantId: "default" },
      _sum: { latestVersion: true },
    });
    expect(stored).toBe(listed._sum.latestVersion);
  });

  test("a tenant sees none of another's capsules", async () => {
    await put("mine", body({ corePrompt: "mine" }), "one");
    await put("mine", body({ corePrompt: "yours" }), "two");
    const { capsule } = await capsules.reader.resolve("one", "mine", 0);
    expect(capsule.body!.persona!.corePrompt).toBe("mine");
    const page = await listCapsules(capsules, "two", { pageSize: 10, pageToken: "" });
    expect(page.capsules.map(({ body }) => body!.persona!.corePrompt)).toEqual(["yours"]);
    await expect(capsules.reader.resolve("three", "mine", 0)).rejects.toMatchObject({
      reason: "CAPSULE_NOT_FOUND",
    });
  });

  test("a body is found by its hash", async () => {
    const content = body({ corePrompt: "by hash" });
    const { capsule } = await put("hashed", content);
    const bytes = await capsules.store.findBody("default", capsule!.hash);
    expect(CapsuleBody.decode(bytes!)).toEqual(content);
    expect(await capsules.store.findBody("other", capsule!.hash)).toBeUndefined();
  });

  test("a page of a thousand short capsules is read at once", async () => {
    const data = Array.from({ length: 1_000 }, (_, index) => ({ id: `id-${index}`, name: `n${index}` }));
    const bytes = CapsuleBody.encode(body()).finish() as Uint8Array<ArrayBuffer>;
    await database.transaction(async (tx) => {
      await tx.capsuleHead.createMany({
        data: data.map((row) => ({ ...row, tenantId: "many", latestVersion: 1 })),
      });
      await tx.capsuleVersion.createMany({
        data: data.map(({ id }) => ({
          tenantId: "many",
          capsuleId: id,
          version: 1,
          hash: new Uint8Array(32),
          cause: "CAPSULE_CAUSE_PUT",
          createdUs: 1n,
          bodyBytes: bytes.length,
          body: bytes,
        })),
      });
    });
    const page = await listCapsules(capsules, "many", { pageSize: 1_000, pageToken: "" });
    expect(page.capsules).toHaveLength(1_000);
    expect(page.nextPageToken).toBe("");
  });
});

describe("CapsuleReader", () => {
  let database: Database;
  let capsules: CapsuleDeps;
  beforeAll(async () => {
    database = await openDatabase({ url: `file:${join(folder, "reader.db")}`, poolSize: 2 });
    capsules = createCapsules({ database });
  });
  afterAll(() => database?.close());
  const put = (name: string) =>
    putCapsule(capsules, key<CapsuleAnswer>("PutCapsule"), { name, body: body() });

  test("a version is read once, and kept within the bound; only the latest number is asked again", async () => {
    await put("warm");
    await put("warm");
    const reads: string[] = [];
    const counting = Object.assign(Object.create(capsules.store), {
      findHead: (...args: Parameters<typeof capsules.store.findHead>) => {
        reads.push("head");
        return capsules.store.findHead(...args);
      },
      findVersion: (...args: Parameters<typeof capsules.store.findVersion>) => {
        reads.push(`version ${args[2]}`);
        return capsules.store.findVersion(...args);
      },
    }) as typeof capsules.store;
    const roomForOne = new Caches(0.00006);
    const reader = new CapsuleReader(counting, roomForOne);
    const first = await reader.resolve("default", "warm", 0);
    expect(await reader.resolve("default", "warm", 2)).toBe(first);
    expect(reads).toEqual(["head", "version 2", "head"]);
    await reader.resolve("default", "warm", 1);
    await reader.resolve("default", "warm", 0);
    expect(reads.slice(3)).toEqual(["head", "version 1", "head", "version 2"]);
  });

  test("a new version and a deletion are seen at once", async () => {
    await put("seen");
    expect((await capsules.reader.resolve("default", "seen", 0)).capsule.version).toBe(1);
    await put("seen");
    expect((await capsules.reader.resolve("default", "seen", 0)).capsule.version).toBe(2);
    await deleteCapsule(capsules, key("DeleteCapsule"), "seen");
    await expect(capsules.reader.resolve("default", "seen", 1)).rejects.toMatchObject({
      reason: "CAPSULE_NOT_FOUND",
    });
  });
});
