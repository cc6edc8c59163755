import { type ColumnType, ColumnTypeEnum } from "@prisma/driver-adapter-utils";

const declaredTypes: ReadonlyMap<string, ColumnType> = new Map([
  ["DECIMAL", ColumnTypeEnum.Numeric],
  ["FLOAT", ColumnTypeEnum.Float],
  ...named(ColumnTypeEnum.Double, "DOUBLE", "DOUBLE PRECISION", "NUMERIC", "REAL"),
  ...named(ColumnTypeEnum.Int32, "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "SERIAL", "INT2"),
  ...named(ColumnTypeEnum.Int64, "BIGINT", "UNSIGNED BIG INT", "INT8"),
  ...named(ColumnTypeEnum.DateTime, "DATETIME", "TIMESTAMP"),
  ["TIME", ColumnTypeEnum.Time],
  ["DATE", ColumnTypeEnum.Date],
  ...named(ColumnTypeEnum.Text, "TEXT", "CLOB", "CHARACTER", "VARCHAR", "VARYING CHARACTER"),
  ...named(ColumnTypeEnum.Text, "NCHAR", "NATIVE CHARACTER", "NVARCHAR"),
  ["BLOB", ColumnTypeEnum.Bytes],
  ["BOOLEAN", ColumnTypeEnum.Boolean],
  ["JSONB", ColumnTypeEnum.Json],
]);

function named(type: ColumnType, ...names: readonly string[]): [string, ColumnType][] {
  return names.map((name) => [name, type]);
}

/** The type of a table's column; undefined for expressions and for names that Prisma does not know. */
export function declaredType(name: string | null): ColumnType | undefined {
  return name === null ? undefined : declaredTypes.get(name.toUpperCase());
}

/** Settles each column's type: as declared, else by its first value that is not null. */
export function columnTypes(
  declared: readonly (ColumnType | undefined)[],
  rows: readonly (readonly unknown[])[],
): ColumnType[] {
  return declared.map((type, index) => type ?? inferredType(rows, index));
}

function inferredType(rows: readonly (readonly unknown[])[], index: number): ColumnType {
  const value = rows.find((row) => row[index] !== null)?.[index];
  switch (typeof value) {
    case "string":
      return ColumnTypeEnum.Text;
    case "bigint":
      return ColumnTypeEnum.Int64;
    case "number":
      return ColumnTypeEnum.UnknownNumber;
    case "object":
      return ColumnTypeEnum.Bytes;
    default:
      return ColumnTypeEnum.Int32;
  }
}

/**
 * Brings rows, in place, to the values that Prisma reads: integers as numbers where these are exact, else as
 * decimal text; whole numbers in integer columns; times as ISO 8601.
 */
export function convertRows(rows: unknown[][], types: readonly ColumnType[], bigints: boolean): void {
  for (let index = 0; index < types.length; index += 1) {
    const type = types[index];
    if (type === ColumnTypeEnum.DateTime) convertColumn(rows, index, toIsoTime);
    else if (type === ColumnTypeEnum.Int32 || type === ColumnTypeEnum.Int64)
      convertColumn(rows, index, toWhole);
    else if (bigints && type !== ColumnTypeEnum.Text) convertColumn(rows, index, fromBigInt);
  }
}

function convertColumn(rows: unknown[][], index: number, convert: (value: unknown) => unknown): void {
  for (const row of rows) row[index] = convert(row[index]);
}

function toIsoTime(value: unknown): unknown {
  return typeof value === "number" || typeof value === "bigint"
    ? new Date(Number(value)).toISOString()
    : value;
}

function toWhole(value: unknown): unknown {
  return typeof value === "number" ? Math.trunc(value) : fromBigInt(value);
}

function fromBigInt(value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}
