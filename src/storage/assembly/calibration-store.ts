import type { Database, PrismaTransaction } from "../database.js";
import { asStorageError } from "../storage-error.js";

export interface CalibrationKey {
  /** "" for all tenants together. */
  readonly tenantId: string;
  readonly model: string;
}

/** A calibration as it is stored. */
export interface StoredCalibration {
  readonly version: number;
  readonly ratio: number;
  readonly margin: number;
  readonly evidence: number;
  readonly observations: readonly number[];
}

export type CalibrationRow = CalibrationKey & StoredCalibration;

interface Row extends CalibrationKey {
  readonly version: number;
  readonly ratio: number;
  readonly margin: number;
  readonly evidence: number;
  readonly observationsJson: string;
}

const lockRow =
  "SELECT pg_advisory_xact_lock(hashtextextended('quire-calibration/' || CAST($1 AS TEXT) || '/' || CAST($2 AS TEXT), 0))";
const mostListed = 1_000;

/** What was learnt of models' tokens, per tenant and for all of them. */
export class CalibrationStore {
  constructor(private readonly database: Database) {}

  /** A tenant's own calibration of a model and the one of all tenants, in one read. */
  async find(
    tenantId: string,
    model: string,
  ): Promise<{
    readonly own: StoredCalibration | undefined;
    readonly shared: StoredCalibration | undefined;
  }> {
    const rows = await this.reading(() =>
      this.database.reader.calibration.findMany({ where: { model, tenantId: { in: [tenantId, ""] } } }),
    );
    const of = (id: string) => {
      const row = rows.find((each) => each.tenantId === id);
      return row && readRow(row);
    };
    return { own: of(tenantId), shared: of("") };
  }

  /** A tenant's own calibrations by model; the first thousand. */
  async list(tenantId: string): Promise<CalibrationRow[]> {
    const rows = await this.reading(() =>
      this.database.reader.calibration.findMany({
        where: { tenantId },
        orderBy: { model: "asc" },
        take: mostListed,
      }),
    );
    return rows.map(readRow);
  }

  /**
   * Writes calibrations in one transaction, each as `merge` makes it of the stored one. Servers that write the same one wait for
   * each other. `merge` may be called again when another writer was faster.
   */
  async save(
    keys: readonly CalibrationKey[],
    updatedUs: bigint,
    merge: (key: CalibrationKey, stored: StoredCalibration | undefined) => StoredCalibration,
  ): Promise<void> {
    // In one order for all servers, so that two of them cannot wait for each other.
    const sorted = keys.toSorted((a, b) => compare(a.tenantId, b.tenantId) || compare(a.model, b.model));
    await this.database.transaction(async (tx) => {
      for (const key of sorted) await this.saveOne(tx, key, updatedUs, merge);
    });
  }

  private async saveOne(
    tx: PrismaTransaction,
    { tenantId, model }: CalibrationKey,
    updatedUs: bigint,
    merge: (key: CalibrationKey, stored: StoredCalibration | undefined) => StoredCalibration,
  ): Promise<void> {
    if (this.database.dialect === "postgresql") await tx.$executeRawUnsafe(lockRow, tenantId, model);
    const where = { tenantId_model: { tenantId, model } };
    const row = await tx.calibration.findUnique({ where });
    const { observations, version, ratio, margin, evidence } = merge(
      { tenantId, model },
      row ? readRow(row) : undefined,
    );
    const data = {
      ...{ version, ratio, margin, evidence, updatedUs },
      observationsJson: JSON.stringify(observations),
    };
    await tx.calibration.upsert({ where, create: { tenantId, model, ...data }, update: data });
  }

  private async reading<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

function readRow({
  tenantId,
  model,
  version,
  ratio,
  margin,
  evidence,
  observationsJson,
}: Row): CalibrationRow {
  const observations = JSON.parse(observationsJson) as readonly number[];
  return { tenantId, model, version, ratio, margin, evidence, observations };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
