import { fromMicroseconds, toMicroseconds } from "../../domain/clock.js";
import { type Observation, SeriesKind } from "../../domain/source-item.js";
import { QuireError } from "../../errors/quire-error.js";
import { readPageToken, writePageToken } from "../../storage/page-token.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import type { SourceDeps } from "../deps.js";
import type { Deleted } from "./items.js";

/** So many values of a series are kept, the newest. */
const keptValues = 256;

export interface RecordObservations {
  readonly agent: string;
  readonly observations: readonly Observation[];
}

/** Adds values to series. */
export async function recordObservations(
  deps: SourceDeps,
  key: WriteKey<object>,
  { agent, observations }: RecordObservations,
): Promise<object> {
  const nowMs = deps.clock.now();
  const seen = new Set<string>();
  const rows = observations.map((observation, index) => {
    const { kind, name, value, display, unit, observeTime, expireTime } = observation;
    const isShare = kind !== SeriesKind.VALUE;
    if (isShare && (value < 0 || value > 1))
      throw QuireError.field("INVALID_FIELD", `observations[${index}].value`, "must be a number from 0 to 1");
    const observedUs = observeTime && toMicroseconds(observeTime.getTime());
    const place = `${kind}/${name}/${observedUs}`;
    if (observeTime && seen.has(place))
      throw QuireError.field(
        "INVALID_FIELD",
        `observations[${index}]`,
        "is the second value of its series and time",
      );
    seen.add(place);
    return {
      kind,
      name,
      observedUs,
      value,
      display,
      unit,
      expiresUs: expireTime ? toMicroseconds(expireTime.getTime()) : null,
    };
  });
  const nowUs = toMicroseconds(nowMs);
  return deps.store.write(key, nowUs, async (sources) => {
    await sources.addObservations(agent, rows, nowUs, keptValues);
    return {};
  });
}

export interface ListObservations {
  readonly agent: string;
  readonly kind: SeriesKind;
  readonly pageSize: number;
  readonly pageToken: string;
}

export interface ObservationPage {
  readonly observations: readonly Observation[];
  readonly nextPageToken: string;
}

export async function listObservations(
  deps: SourceDeps,
  tenantId: string,
  { agent, kind, pageSize, pageToken }: ListObservations,
): Promise<ObservationPage> {
  const list = `observations ${agent} ${kind}`;
  const [afterKind, name, observedUs] = readPageToken(list, pageToken, ["", "", ""]);
  const after =
    afterKind === "" ? undefined : { kind: afterKind!, name: name!, observedUs: BigInt(observedUs!) };
  const only = kind === SeriesKind.UNSPECIFIED ? undefined : kind;
  const found = await deps.store.listObservations(tenantId, agent, only, after, pageSize + 1);
  const page = found.slice(0, pageSize);
  const last = page.at(-1);
  const isMore = found.length > page.length && last !== undefined;
  return {
    observations: page.map((row) => ({
      kind: row.kind as SeriesKind,
      name: row.name,
      value: row.value,
      display: row.display,
      unit: row.unit,
      observeTime: fromMicroseconds(row.observedUs),
      expireTime: row.expiresUs === null ? undefined : fromMicroseconds(row.expiresUs),
    })),
    nextPageToken: isMore ? writePageToken(list, [last.kind, last.name, String(last.observedUs)]) : "",
  };
}

export async function deleteObservations(
  deps: SourceDeps,
  key: WriteKey<Deleted>,
  {
    agent,
    kind,
    names,
  }: { readonly agent: string; readonly kind: SeriesKind; readonly names: readonly string[] },
): Promise<Deleted> {
  return deps.store.write(key, toMicroseconds(deps.clock.now()), async (sources) => ({
    deleted: await sources.deleteObservations(agent, kind, names),
  }));
}
