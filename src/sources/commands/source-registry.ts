import { fromMicroseconds, toMicroseconds } from "../../domain/clock.js";
import type { SourceRule, SourceState } from "../../domain/source.js";
import { QuireError } from "../../errors/quire-error.js";
import type { SourceRow } from "../../storage/source/rows.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import { builtIns } from "../builtin/all.js";
import type { SourceDeps } from "../deps.js";
import { plugInRules } from "../known-sources.js";
import { parseAddress } from "../remote/allowed-addresses.js";
import { holdsCertificates } from "../remote/authorities.js";
import { type SourceRules, withRule } from "../rules.js";
import { decodeConfig, encodeConfig, type SourceConfig } from "../source-codec.js";
import { SourceFailure } from "../source-failure.js";

export interface SourceInfo {
  readonly name: string;
  readonly builtIn: boolean;
  readonly config: SourceConfig | undefined;
  readonly rule: SourceRule | undefined;
  readonly status: SourceStatus | undefined;
  readonly updateTime: Date | undefined;
}

export interface SourceStatus {
  readonly calls: number;
  readonly failures: number;
  readonly lastState: SourceState;
  readonly lastDetail: string;
  readonly lastElapsedUs: number;
  readonly resting: boolean;
}

export interface SourceAnswer {
  readonly source: SourceInfo | undefined;
}

/** A tenant has at most so many plug-ins. */
const maxPlugIns = 64;

/** Registers a plug-in, or sets the rules of a built-in source. */
export async function putSource(
  deps: SourceDeps,
  key: WriteKey<SourceAnswer>,
  config: SourceConfig,
): Promise<SourceAnswer> {
  const { name, endpoint } = config;
  const isBuiltIn = isBuiltInName(deps, name);
  if (isBuiltIn && endpoint)
    throw QuireError.field("INVALID_FIELD", "source.endpoint", `${name} is built in`);
  if (!isBuiltIn && !endpoint) throw QuireError.field("INVALID_FIELD", "source.endpoint", "is required");
  if (endpoint && !parseAddress(endpoint.address))
    throw QuireError.field(
      "INVALID_FIELD",
      "source.endpoint.address",
      "is no host and port, such as 127.0.0.1:7070 or [::1]:7070",
    );
  if (endpoint && !deps.plugIns.allows(endpoint)) {
    throw new QuireError(
      "SOURCE_ADDRESS_NOT_ALLOWED",
      "the operator does not allow plug-ins at this address (--source-addresses)",
      { metadata: { address: endpoint.address } },
    );
  }
  const caPem = endpoint?.tls?.caPem ?? "";
  if (caPem !== "" && !holdsCertificates(caPem))
    throw QuireError.field("INVALID_FIELD", "source.endpoint.tls.ca_pem", "holds no certificates as PEM");
  const stored = { ...config, rule: config.rule && { ...config.rule, name } };
  const nowUs = toMicroseconds(deps.clock.now());
  const answer = await deps.store.write(key, nowUs, async (sources) => {
    if (endpoint && (await sources.countSources(name)) >= maxPlugIns)
      throw QuireError.field("INVALID_FIELD", "source", `there are ${maxPlugIns} sources already`);
    const wire = encodeConfig(stored);
    await sources.putSource(name, wire);
    return { source: view(deps, key.tenantId, name, { name, wire, updatedUs: nowUs }) };
  });
  deps.calls.forget(key.tenantId, name);
  return answer;
}

export async function getSource(deps: SourceDeps, tenantId: string, name: string): Promise<SourceAnswer> {
  const row = await deps.store.source(tenantId, name);
  if (!row && !isBuiltInName(deps, name)) throw sourceNotFound(name);
  return { source: view(deps, tenantId, name, row) };
}

export async function listSources(
  deps: SourceDeps,
  tenantId: string,
): Promise<{ readonly sources: readonly SourceInfo[] }> {
  const rows = new Map((await deps.store.sources(tenantId)).map((row) => [row.name, row]));
  const names = new Set([...builtInRules(deps).keys(), ...rows.keys()]);
  return { sources: [...names].sort().map((name) => view(deps, tenantId, name, rows.get(name))) };
}

export async function deleteSource(deps: SourceDeps, key: WriteKey<object>, name: string): Promise<object> {
  const answer = await deps.store.write(key, toMicroseconds(deps.clock.now()), async (sources) => {
    if (!(await sources.deleteSource(name))) throw sourceNotFound(name);
    return {};
  });
  deps.calls.forget(key.tenantId, name);
  return answer;
}

export interface CheckedSource {
  readonly healthy: boolean;
  readonly detail: string;
  readonly version: string;
  readonly elapsedUs: number;
}

const checkMs = 5_000;

/** How a source is, now. */
export async function checkSource(
  deps: SourceDeps,
  tenantId: string,
  name: string,
  signal: AbortSignal,
): Promise<CheckedSource> {
  const row = await deps.store.source(tenantId, name);
  const endpoint = row && decodeConfig(row.wire).endpoint;
  if (!endpoint) {
    if (!isBuiltInName(deps, name)) throw sourceNotFound(name);
    return { healthy: true, detail: "", version: "", elapsedUs: 0 };
  }
  const startedMs = performance.now();
  const result = (healthy: boolean, detail: string, version = "") => ({
    healthy,
    detail,
    version,
    elapsedUs: Math.round((performance.now() - startedMs) * 1_000),
  });
  if (!deps.plugIns.allows(endpoint)) return result(false, "the operator does not allow its address");
  const plugIn = deps.plugIns.at(tenantId, name, endpoint);
  try {
    const isServing = await plugIn.isServing(signal, checkMs);
    const { version } = await plugIn.describe(signal, checkMs);
    return result(isServing, isServing ? "" : "it says that it does not serve", version.slice(0, 256));
  } catch (error) {
    if (error instanceof SourceFailure) return result(false, error.message);
    throw error;
  }
}

function isBuiltInName(deps: SourceDeps, name: string): boolean {
  return builtInRules(deps).has(name);
}

/** Those that are written through SourceService, recall, and those that the engine was given. */
function builtInRules({ others }: SourceDeps): ReadonlyMap<string, SourceRules> {
  return new Map([
    ...builtIns.map(({ name, defaults }) => [name, defaults] as const),
    ...others
      .flatMap(({ offered }) => offered)
      .map(({ source, defaults }) => [source.name, defaults] as const),
  ]);
}

function sourceNotFound(source: string): QuireError {
  return new QuireError("SOURCE_NOT_FOUND", `there is no source ${JSON.stringify(source)}`, {
    metadata: { source },
  });
}

function view(deps: SourceDeps, tenantId: string, name: string, row: SourceRow | undefined): SourceInfo {
  const config = row && decodeConfig(row.wire);
  const defaults = builtInRules(deps).get(name);
  const { isResting: resting, ...health } = deps.calls.health(tenantId, name);
  return {
    name,
    builtIn: defaults !== undefined,
    config,
    rule: ruleOf(name, withRule(defaults ?? plugInRules, config?.rule)),
    status: { ...health, resting },
    updateTime: row && fromMicroseconds(row.updatedUs),
  };
}

function ruleOf(name: string, rules: SourceRules): SourceRule {
  const { thresholds, ...rest } = rules;
  return {
    name,
    ...rest,
    thresholds: Object.entries(thresholds).map(([threshold, value]) => ({ name: threshold, value })),
  };
}
