import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { Caches } from "../../src/domain/caches.js";
import { Calibrator } from "../../src/models/calibrator.js";
import { findModel, parseCatalogue } from "../../src/models/catalogue.js";
import { listModels } from "../../src/models/list-models.js";
import { CalibrationStore } from "../../src/storage/assembly/calibration-store.js";
import { type Database, openDatabase } from "../../src/storage/database.js";
import { startPostgres } from "../support/postgres.js";
import { tempFolder } from "../support/temp-folder.js";

const estimated = {
  contextTokens: 200_000,
  outputTokens: 8_000,
  vocabulary: null,
  ratio: 1.25,
  margin: 0.15,
};
const catalogue = parseCatalogue(
  JSON.stringify({
    fallback: estimated,
    models: {
      "claude-a": { ...estimated, provider: "anthropic" },
      "claude-b": { ...estimated, provider: "anthropic", inputTokens: 150_000 },
      "gpt-x": { ...estimated, vocabulary: "o200k_base" },
    },
  }),
);
const claude = findModel(catalogue, "claude-a");
const vocabulary = "o200k_base";
const catalogueScale = { vocabulary, exact: false, ratio: 1.25, margin: 0.15, version: 0, evidence: 0 };

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

async function openUrl(url: string): Promise<Database> {
  const database = await openDatabase({ url, poolSize: 4 });
  onTestFinished(() => database.close().catch(() => undefined));
  return database;
}

async function openFile(
  file = join(tempFolder(), "quire.db"),
): Promise<{ file: string; database: Database }> {
  return { file, database: await openUrl(`file:${file}`) };
}

/** A server's calibrator, with a clock that the test moves and the errors that it reported. */
function openCalibrator(database: Database) {
  const clock = {
    ms: Date.UTC(2026, 0, 15),
    now() {
      return this.ms;
    },
  };
  const errors: unknown[] = [];
  const calibrator = new Calibrator(new CalibrationStore(database), catalogue, clock, (error) => {
    errors.push(error);
  });
  onTestFinished(() => calibrator.flush());
  const observe = (tenantId: string, ratio: number, times = 1, model = "claude-a") => {
    for (let time = 0; time < times; time++)
      calibrator.observe(tenantId, model, { countedTokens: 10_000, inputTokens: 10_000 * ratio });
  };
  return { calibrator, clock, errors, observe };
}

describe("a calibrator", () => {
  test("gives the catalogue's scale until there is evidence, and then at once the observed one", async () => {
    const { calibrator, observe } = openCalibrator((await openFile()).database);
    expect(await calibrator.scaleFor("a", claude)).toEqual(catalogueScale);
    observe("a", 1.4, 4);
    expect(await calibrator.scaleFor("a", claude)).toEqual(catalogueScale);
    observe("a", 1.4);
    const scale = await calibrator.scaleFor("a", claude);
    expect(scale).toMatchObject({ exact: false, evidence: 5 });
    expect(scale.version).toBeGreaterThan(0);
    expect(scale.ratio).toBeCloseTo(1.4, 6);
  });

  test("survives a restart", async () => {
    const { file, database } = await openFile();
    const first = openCalibrator(database);
    first.observe("a", 1.4, 200);
    const before = await first.calibrator.scaleFor("a", claude);
    await first.calibrator.flush();
    await database.close();
    const second = openCalibrator((await openFile(file)).database);
    expect(await second.calibrator.scaleFor("a", claude)).toEqual(before);
    expect(before).toMatchObject({ evidence: 200 });
    second.observe("a", 1.4);
    expect(await second.calibrator.scaleFor("a", claude)).toEqual({ ...before, evidence: 201 });
  });

  test("counts what it observed before it read what is stored", async () => {
    const { database } = await openFile();
    const first = openCalibrator(database);
    first.observe("a", 1.4, 30);
    await first.calibrator.flush();
    const second = openCalibrator(database);
    second.observe("a", 1.4, 3);
    expect(await second.calibrator.scaleFor("a", claude)).toMatchObject({ evidence: 33 });
    await second.calibrator.flush();
    expect((await new CalibrationStore(database).find("a", "claude-a")).own?.evidence).toBe(33);
  });

  test("keeps tenants apart, but gives a new one what the others taught", async () => {
    const { calibrator, observe } = openCalibrator((await openFile()).database);
    observe("a", 1.4, 40);
    const shared = await calibrator.scaleFor("new", claude);
    expect(shared.ratio).toBeCloseTo(1.4, 6);
    expect(shared).toMatchObject({ evidence: 40 });
    observe("b", 1.1, 4);
    expect((await calibrator.scaleFor("b", claude)).ratio).toBeCloseTo(1.4, 2);
    observe("b", 1.1);
    const own = await calibrator.scaleFor("b", claude);
    expect(own.ratio).toBeCloseTo(1.1, 6);
    expect(own.version).toBeGreaterThan(shared.version);
    expect((await calibrator.scaleFor("a", claude)).ratio).toBeCloseTo(1.4, 6);
    expect(await calibrator.modelsOf("new")).toEqual([]);
  });

  test("passes over exact models, small contexts, missing reports and turns without a model", async () => {
    const { database } = await openFile();
    const { calibrator, observe } = openCalibrator(database);
    observe("a", 1.4, 10, "gpt-x");
    observe("a", 1.4, 10, "");
    observe("a", 0, 10);
    calibrator.observe("a", "claude-a", { countedTokens: 199, inputTokens: 400 });
    await calibrator.flush();
    expect(await new CalibrationStore(database).list("a")).toEqual([]);
    const exact = { vocabulary, exact: true, ratio: 1, margin: 0, version: 0, evidence: 0 };
    expect(await calibrator.scaleFor("a", findModel(catalogue, "gpt-x"))).toEqual(exact);
    expect(await calibrator.scaleFor("a", findModel(catalogue, ""))).toEqual(catalogueScale);
  });

  test("knows a model by its name without a date, and learns of models that the catalogue lacks", async () => {
    const { calibrator, observe } = openCalibrator((await openFile()).database);
    observe("a", 1.4, 5, "claude-a-20260101");
    observe("a", 1.6, 5, "mystery");
    expect((await calibrator.scaleFor("a", claude)).evidence).toBe(5);
    expect((await calibrator.scaleFor("a", findModel(catalogue, "mystery"))).ratio).toBeCloseTo(1.6, 6);
  });

  test("loses nothing of what many observe at once, while it writes", async () => {
    const { database } = await openFile();
    const { calibrator, observe, errors } = openCalibrator(database);
    await Promise.all(
      Array.from({ length: 400 }, async (_, turn) => {
        observe(`t${turn % 40}`, 1.3 + (turn % 7) / 100);
        if (turn % 10 === 0) await calibrator.flush();
        await calibrator.scaleFor(`t${turn % 40}`, claude);
        observe(`t${turn % 40}`, 1.3);
      }),
    );
    await calibrator.flush();
    const store = new CalibrationStore(database);
    expect((await store.find("t7", "claude-a")).own?.evidence).toBe(20);
    expect((await store.find("t7", "claude-a")).shared).toMatchObject({ evidence: 800 });
    expect((await store.find("t7", "claude-a")).shared?.observations).toHaveLength(128);
    expect(errors).toEqual([]);
  });

  test("reads at most once in five seconds", async () => {
    const { database } = await openFile();
    const store = new CalibrationStore(database);
    let reads = 0;
    const counting = Object.assign(Object.create(store) as CalibrationStore, {
      find: (tenantId: string, model: string) => {
        reads++;
        return store.find(tenantId, model);
      },
    });
    let ms = 0;
    const calibrator = new Calibrator(counting, catalogue, { now: () => ms }, () => undefined);
    await Promise.all(Array.from({ length: 50 }, () => calibrator.scaleFor("a", claude)));
    ms = 4_999;
    await calibrator.scaleFor("a", claude);
    expect(reads).toBe(1);
    ms = 5_000;
    await Promise.all(Array.from({ length: 50 }, () => calibrator.scaleFor("a", claude)));
    await calibrator.flush();
    expect(reads).toBe(2);
  });

  test("costs no call when the database does not answer, and tells", async () => {
    const { database } = await openFile();
    const { calibrator, observe, errors } = openCalibrator(database);
    await database.close();
    observe("a", 1.4, 6);
    expect((await calibrator.scaleFor("a", claude)).ratio).toBeCloseTo(1.4, 6);
    expect(await calibrator.modelsOf("a")).toEqual(["claude-a"]);
    await calibrator.flush();
    expect(errors).toHaveLength(3);
    expect((await calibrator.scaleFor("a", claude)).evidence).toBe(6);
  });
});

describe("calibrations that cannot be written", () => {
  test("stay within their bound, and so do those that are known", async () => {
    const { database } = await openFile();
    const caches = new Caches(1 / 256);
    const store = new CalibrationStore(database);
    const calibrator = new Calibrator(store, catalogue, { now: () => 0 }, () => undefined, caches);
    await database.close();
    for (let at = 0; at < 200; at++) {
      calibrator.observe(`tenant ${at}`, "claude-a", { countedTokens: 10_000, inputTokens: 14_000 });
      for (const { bytes, maxBytes } of caches.uses) expect(bytes).toBeLessThanOrEqual(maxBytes);
    }
    for (const { entries } of caches.uses) expect(entries).toBeGreaterThan(5);
    await calibrator.flush();
    expect(calibrator.entries).toBeLessThan(20);
  });

  test("are not asked for again while they are being read", async () => {
    const { database } = await openFile();
    let reads = 0;
    let answer = () => {};
    const hanging = Object.assign(Object.create(new CalibrationStore(database)) as CalibrationStore, {
      find: () => {
        reads++;
        return reads === 1
          ? Promise.resolve({ own: undefined, shared: undefined })
          : new Promise<{ own: undefined; shared: undefined }>((resolve) => {
              answer = () => resolve({ own: undefined, shared: undefined });
            });
      },
    });
    let ms = 0;
    const calibrator = new Calibrator(hanging, catalogue, { now: () => ms }, () => undefined);
    for (ms = 0; ms < 100_000; ms += 5_000) await calibrator.scaleFor("a", claude);
    expect(reads).toBe(2);
    answer();
    await calibrator.flush();
  });
});

const shared: readonly (readonly [string, () => string])[] = [
  ["sqlite", () => `file:${join(tempFolder(), "quire.db")}`],
  ...(postgres ? [["postgresql", () => postgres.url] as const] : []),
];

describe.each(shared)("two servers over one database on %s", (_, urlOf) => {
  const openBoth = async () => {
    const url = urlOf();
    return [openCalibrator(await openUrl(url)), openCalibrator(await openUrl(url))] as const;
  };

  test("add up what they observe, and come to one ratio", async () => {
    const [one, two] = await openBoth();
    for (const { calibrator } of [one, two]) await calibrator.scaleFor("a", claude);
    for (let round = 0; round < 10; round++) {
      one.observe("a", 1.38, 3);
      two.observe("a", 1.42, 3);
      await Promise.all([one.calibrator.flush(), two.calibrator.flush()]);
    }
    for (const { calibrator, clock } of [one, two]) {
      clock.ms += 5_000;
      await calibrator.scaleFor("a", claude);
      await calibrator.flush();
    }
    const scales = await Promise.all([one, two].map(({ calibrator }) => calibrator.scaleFor("a", claude)));
    const [first, second] = scales as [(typeof scales)[0], (typeof scales)[0]];
    expect(first.evidence).toBe(60);
    expect(second).toMatchObject({ evidence: 60, ratio: first.ratio, margin: first.margin });
    expect(first.ratio).toBeCloseTo(1.4, 2);
    expect([...one.errors, ...two.errors]).toEqual([]);
  });

  test("never give one version to two ratios, as far as a server can tell", async () => {
    const servers = await openBoth();
    const seen = servers.map(() => new Map<number, number>());
    for (let round = 0; round < 60; round++) {
      for (const [index, { calibrator, clock, observe }] of servers.entries()) {
        observe("b", 1 + ((round * 7 + index * 3) % 10) / 20);
        const { version, ratio } = await calibrator.scaleFor("b", claude);
        if (version > 0) expect(seen[index]!.get(version) ?? ratio).toBe(ratio);
        seen[index]!.set(version, ratio);
        clock.ms += 1_500;
        if (round % 3 === index) await calibrator.flush();
      }
    }
  });
});

describe("the list of models", () => {
  test("is by name: the catalogue's, and those that the tenant reported", async () => {
    const { calibrator, observe } = openCalibrator((await openFile()).database);
    observe("a", 1.4, 6, "claude-b");
    observe("a", 1.6, 6, "claude-zzz");
    observe("other", 1.6, 6, "claude-secret");
    await calibrator.flush();
    const page = { namePrefix: "", pageSize: 50, pageToken: "", withFamilies: false };
    const { models } = await listModels({ catalogue, calibrator }, "a", page);
    expect(models.map(({ name }) => name)).toEqual(["claude-a", "claude-b", "claude-zzz", "gpt-x"]);
    expect(models[0]).toMatchObject({ ratio: 1.25, margin: 0.15, evidence: 0, calibrationVersion: 0 });
    expect(models[1]).toMatchObject({ provider: "anthropic", inputTokens: 150_000, evidence: 6 });
    expect(models[1]!.calibrationVersion).toBeGreaterThan(0);
    expect(models[3]).toMatchObject({ exact: true, ratio: 1, margin: 0, inputTokens: undefined });
    const some = await listModels({ catalogue, calibrator }, "a", { ...page, namePrefix: "claude-z" });
    expect(some.models.map(({ name }) => name)).toEqual(["claude-zzz"]);
  });
});
