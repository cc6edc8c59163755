import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { AssemblyDeps } from "./assembly/deps.js";
import { createSystemCache } from "./assembly/system/system.js";
import { createToolsCache } from "./assembly/tools/tools.js";
import { type CapsuleDeps, createCapsules } from "./capsule/capsules.js";
import { defaultKnobTable, parseKnobTable } from "./capsule/knobs.js";
import { Compactor } from "./compaction/jobs/compactor.js";
import { extractiveSummarizer, transcribe } from "./compaction/jobs/fold-threads.js";
import { PlanSeal } from "./compaction/jobs/plan-seal.js";
import { summarizerSet } from "./compaction/summarizers/summarizer-set.js";
import { ConfigError } from "./config/config-error.js";
import { isLoopback } from "./config/load-config.js";
import { assertOperatorPaths } from "./config/operator-paths.js";
import { type Config, configOptions } from "./config/options.js";
import { packageRoot } from "./config/package-root.js";
import { parseSettingFile } from "./config/setting-file.js";
import type { MemoryUse } from "./domain/bounded-cache.js";
import { Caches } from "./domain/caches.js";
import {
  type Clock,
  type Ids,
  systemClock,
  systemIds,
  systemTimers,
  type Timers,
  toMicroseconds,
} from "./domain/clock.js";
import type { LedgerDeps } from "./ledger/deps.js";
import { createLedger } from "./ledger/ledger.js";
import { createMemory, type MemoryDeps } from "./memory/deps.js";
import { Calibrator } from "./models/calibrator.js";
import { type Catalogue, extendCatalogue, parseCatalogue } from "./models/catalogue.js";
import { Offload } from "./offload/offload.js";
import { MemoryProvider } from "./recall/context/memory-source.js";
import { searchForAgent } from "./recall/context/search-for-agent.js";
import { createRecall, type RecallDeps } from "./recall/deps.js";
import { configuredEmbedder } from "./recall/embedders/configured.js";
import type { ClosableEmbedder } from "./recall/embedders/embedded.js";
import type { Embedder } from "./recall/embedders/embedder.js";
import { rankTexts } from "./recall/search/rank-texts.js";
import { openVectors } from "./recall/vectors/open-vectors.js";
import { RecentReceipts } from "./receipts/recent-receipts.js";
import { parseContextSettings } from "./server/validation/settings-file.js";
import { createSources, type SourceDeps } from "./sources/deps.js";
import { isAddressRule } from "./sources/remote/allowed-addresses.js";
import type { OfferedSource } from "./sources/source.js";
import { CalibrationStore } from "./storage/assembly/calibration-store.js";
import { ReceiptStore } from "./storage/assembly/receipt-store.js";
import { type Database, openDatabase } from "./storage/database.js";
import { openError } from "./storage/open-error.js";
import { sharedSecret } from "./storage/shared-secret.js";
import { asStorageError } from "./storage/storage-error.js";
import type { Logger } from "./telemetry/logger.js";
import { countTokens } from "./tokens/count-tokens.js";
import { TokenCounter } from "./tokens/token-counter.js";
import { createWorkspaces, type WorkspaceDeps } from "./workspace/deps.js";
import { OperatorOverride } from "./workspace/operator-override.js";
import { TemplateFolder } from "./workspace/templates.js";

/** Everything but the network: what the server serves, and what `createQuire` gives. */
export interface Engine {
  readonly database: Database;
  readonly ledger: LedgerDeps;
  readonly capsules: CapsuleDeps;
  readonly workspaces: WorkspaceDeps;
  readonly memory: MemoryDeps;
  readonly recall: RecallDeps;
  readonly sources: SourceDeps;
  readonly assembly: AssemblyDeps;
  /** All that is kept in memory, each with its bound. */
  readonly caches: readonly MemoryUse[];
  /** Finishes what is being written and closes. */
  close(): Promise<void>;
}

export interface EngineOptions {
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly ids?: Ids;
  /** Makes vectors in place of the one that the settings name. */
  readonly embedder?: Embedder;
  /** Where caches are made; their sizes are a share of the usual ones. */
  readonly caches?: Caches;
  /** Sources of context besides those that are built in. */
  readonly sources?: readonly OfferedSource[];
}

const hourMs = 3_600_000;

export async function openEngine(
  config: Config,
  logger: Logger,
  options: EngineOptions = {},
): Promise<Engine> {
  const { clock = systemClock, timers = systemTimers, ids = systemIds, caches = new Caches() } = options;
  // What an operator wrote comes before the database: a start that fails has made none.
  const knobTable = namedFile(config, "knobTableFile", parseKnobTable) ?? defaultKnobTable;
  const catalogue = loadCatalogue(config);
  const settings = namedFile(config, "contextSettingsFile", parseContextSettings);
  assertOperatorPaths(config);
  const embedder = options.embedder ? ownEmbedder(options.embedder) : configuredEmbedder(config);
  const addresses = plugInAddresses(config);
  const database = await openDatabase({
    url: config.database,
    poolSize: config.databasePoolSize,
    timeoutMs: config.databaseTimeoutMs,
    caches,
  });
  const planSeal = await openPlanSeal(config, database);
  database.lost.addEventListener("abort", () => {
    const { reason, message, metadata } = asStorageError(database.lost.reason);
    logger.error({ reason, ...metadata }, message);
  });
  const counter = new TokenCounter();
  counter.prepare();
  const offload = new Offload(Math.min(2, availableParallelism()));
  const warn = (what: string) => (error: unknown) => logger.warn({ cause: String(error) }, what);
  const { historyCacheBytes, watchPollMs } = config;
  const recall = createRecall({
    database,
    embedding: embedder && {
      embedder,
      vectors: await openVectors({
        database,
        offload,
        clock,
        caches,
        cacheBytes: config.vectorCacheBytes,
        onFailure: warn("vectors could not be handed to pgvector; they are compared in process"),
      }),
      batchSize: config.embedder === "embedded" ? 4 : config.embedderBatchSize,
      onFailure: (words) =>
        logger.warn({ embedder: embedder.id }, `the embedder ${words}; it is tried again until it works`),
      onRecovery: () => logger.info({ embedder: embedder.id }, "the embedder works again"),
    },
    onFailure: warn("texts could not be indexed for searches; they are found once they are"),
    caches,
    clock,
  });
  const onWritten = () => recall.indexer.nudge();
  const onWatchFailure = warn("watched sessions cannot be looked at; it is tried again until it works");
  const ledger = createLedger({
    database,
    counter,
    historyCacheBytes,
    watchPollMs,
    onWatchFailure,
    onWritten,
    caches,
    clock,
    timers,
    ids,
  });
  const capsules = createCapsules({ database, knobTable, caches, clock, ids });
  const workspaces = createWorkspaces({ database, counter, caches, clock, ids });
  const memory = createMemory({
    database,
    counter,
    offload,
    search: (...asked) => searchForAgent(recall, ...asked),
    watchPollMs,
    onWatchFailure: warn("watched blocks cannot be looked at; it is tried again until it works"),
    onWritten,
    caches,
    clock,
    ids,
  });
  const onSourceFailure = (source: string, error: unknown) =>
    logger.warn({ source, cause: String(error) }, "a source failed");
  const sources = createSources({
    database,
    given: options.sources ?? [],
    providers: [new MemoryProvider(recall)],
    rankTexts: (asked) => rankTexts(recall, asked),
    addresses,
    caches,
    clock,
    timers,
    onFailure: onSourceFailure,
  });
  const receipts = new ReceiptStore(database, warn("receipts could not be written"), caches);
  const onProblem = (path: string, problem: string) =>
    logger.warn({ path, problem }, "a file of the operator is not used; the text before stays in force");
  const templates = new TemplateFolder(config.templatesFolder, { onProblem });
  const override = new OperatorOverride(config.primeFile, { onProblem });
  const count = (text: string) => countTokens(text, "o200k_base");
  const summarizers = summarizerSet(
    config,
    count,
    extractiveSummarizer(offload),
    (task, signal) => transcribe(offload, task, signal),
    caches,
  );
  const calibrator = new Calibrator(
    new CalibrationStore(database),
    catalogue,
    clock,
    warn("calibrations could not be read or written"),
    caches,
  );
  const recentReceipts = new RecentReceipts(receipts, caches);
  const compactorDeps = {
    ledger,
    summarizers,
    templates,
    counter,
    recentReceipts,
    offload,
    clock,
    timers,
    ids,
  };
  const compactor = new Compactor(compactorDeps, warn("a compaction could not be made"));
  const compaction = { ...compactorDeps, receipts, planSeal, settings, calibrator };
  const assembly: AssemblyDeps = {
    compaction,
    ledger,
    compactor,
    calibrator,
    capsules: capsules.reader,
    workspaces: workspaces.reader,
    blocks: memory.reader,
    receipts,
    recentReceipts,
    counter,
    offload,
    catalogue,
    knobTable,
    sources,
    override,
    templates,
    systemCache: createSystemCache(caches),
    toolsCache: createToolsCache(caches),
    settings,
    clock,
    ids,
  };
  const before = (hours: number) => toMicroseconds(clock.now() - hours * hourMs);
  const closing = new AbortController();
  const sweepOnce = async () => {
    const { signal } = closing;
    await ledger.sessions
      .forgetAnswers(before(config.requestRetentionHours), signal)
      .catch(warn("stored answers could not be swept"));
    await receipts
      .forget(before(config.receiptRetentionHours), signal)
      .catch(warn("receipts could not be swept"));
  };
  let sweeping = Promise.resolve();
  const sweep = () => {
    sweeping = sweeping.then(sweepOnce);
  };
  const timer = setInterval(sweep, Math.min(hourMs, (config.requestRetentionHours * hourMs) / 4)).unref();
  sweep();
  // What another server, or this one before it ended, left to be indexed.
  recall.indexer.nudge();
  return {
    database,
    ledger,
    capsules,
    workspaces,
    memory,
    recall,
    sources,
    assembly,
    caches: caches.uses,
    async close() {
      clearInterval(timer);
      closing.abort();
      await sweeping;
      await ledger.watches.close();
      await compactor.close();
      await sources.outcomes.idle();
      sources.plugIns.close();
      await ledger.writer.idle();
      memory.watches.close();
      await memory.writer.idle();
      await memory.checker.close();
      await recall.close();
      await receipts.flush();
      await calibrator.flush();
      await counter.close();
      await offload.close();
      await database.close();
    },
  };
}

/** By default plug-ins are on this machine, and only where whoever could register them is on it, too. */
function plugInAddresses({ sourceAddresses, listen }: Config): readonly string[] {
  if (sourceAddresses.includes("none")) return [];
  const wrong = sourceAddresses.find((entry) => entry !== "auto" && !isAddressRule(entry));
  if (wrong !== undefined)
    throw new ConfigError([`--source-addresses: ${JSON.stringify(wrong)} is no address and no network`]);
  if (!sourceAddresses.includes("auto")) return sourceAddresses;
  return listen.every(isLoopback) ? ["loopback"] : [];
}

/** Whoever made it closes it. */
function ownEmbedder(embedder: Embedder): ClosableEmbedder {
  return {
    id: embedder.id,
    embed: (...given) => embedder.embed(...given),
    close: async () => undefined,
  };
}

/** What the file says that a setting names; undefined where it names none. */
function namedFile<T>(
  config: Config,
  key: "knobTableFile" | "catalogueFile" | "contextSettingsFile",
  parse: (text: string) => T,
): T | undefined {
  return config[key] ? parseSettingFile(configOptions[key].flag, config[key], parse) : undefined;
}

function loadCatalogue(config: Config): Catalogue {
  const base = parseCatalogue(readFileSync(join(packageRoot, "src", "models", "catalogue.json"), "utf8"));
  return namedFile(config, "catalogueFile", (text) => extendCatalogue(base, text)) ?? base;
}

async function openPlanSeal(config: Config, database: Database): Promise<PlanSeal> {
  try {
    return new PlanSeal(await sharedSecret(database, "compaction plans"));
  } catch (error) {
    await database.close();
    throw await openError(config.database, error);
  }
}
