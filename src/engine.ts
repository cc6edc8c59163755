import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Calibrator } from "./assembly/calibrator.js";
import { Compactor } from "./assembly/compaction/compactor.js";
import { extractiveSummarizer, transcribe } from "./assembly/compaction/fold-threads.js";
import { PlanSeal } from "./assembly/compaction/plan-seal.js";
import type { AssemblyDeps } from "./assembly/deps.js";
import { RecentReceipts } from "./assembly/recent-receipts.js";
import { createSystemCache } from "./assembly/system.js";
import { TemplateFolder } from "./assembly/templates.js";
import { createToolsCache } from "./assembly/tools.js";
import { type Catalogue, extendCatalogue, parseCatalogue } from "./budget/catalogue.js";
import { type CapsuleDeps, createCapsules } from "./capsule/capsules.js";
import { defaultKnobTable, parseKnobTable } from "./capsule/knobs.js";
import type { Config } from "./config/options.js";
import { packageRoot } from "./config/package-root.js";
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
import { Offload } from "./offload/offload.js";
import { parseContextSettings } from "./server/validation/settings-file.js";
import { CalibrationStore } from "./storage/assembly/calibration-store.js";
import { ReceiptStore } from "./storage/assembly/receipt-store.js";
import { type Database, openDatabase } from "./storage/database.js";
import { sharedSecret } from "./storage/shared-secret.js";
import { asStorageError } from "./storage/storage-error.js";
import { summarizerSet } from "./summarizers/summarizer-set.js";
import type { Logger } from "./telemetry/logger.js";
import { countTokens } from "./tokens/count-tokens.js";
import { TokenCounter } from "./tokens/token-counter.js";
import { createWorkspaces, type WorkspaceDeps } from "./workspace/deps.js";
import { OperatorOverride } from "./workspace/operator-override.js";

/** Everything but the network: what the server serves, and what `createQuire` gives. */
export interface Engine {
  readonly database: Database;
  readonly ledger: LedgerDeps;
  readonly capsules: CapsuleDeps;
  readonly workspaces: WorkspaceDeps;
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
  /** Where caches are made; their sizes are a share of the usual ones. */
  readonly caches?: Caches;
}

const hourMs = 3_600_000;

export async function openEngine(
  config: Config,
  logger: Logger,
  options: EngineOptions = {},
): Promise<Engine> {
  const { clock = systemClock, timers = systemTimers, ids = systemIds, caches = new Caches() } = options;
  const knobTable = config.knobTableFile
    ? parseKnobTable(readFileSync(config.knobTableFile, "utf8"))
    : defaultKnobTable;
  const catalogue = loadCatalogue(config.catalogueFile);
  const settings = config.contextSettingsFile
    ? parseContextSettings(readFileSync(config.contextSettingsFile, "utf8"))
    : undefined;
  const database = await openDatabase({
    url: config.database,
    poolSize: config.databasePoolSize,
    timeoutMs: config.databaseTimeoutMs,
    caches,
  });
  database.lost.addEventListener("abort", () => {
    const { reason, message, metadata } = asStorageError(database.lost.reason);
    logger.error({ reason, ...metadata }, message);
  });
  const counter = new TokenCounter();
  counter.prepare();
  const offload = new Offload(Math.min(2, availableParallelism()));
  const warn = (what: string) => (error: unknown) => logger.warn({ cause: String(error) }, what);
  const { historyCacheBytes, watchPollMs } = config;
  const onWatchFailure = warn("watched sessions cannot be looked at; it is tried again until it works");
  const ledger = createLedger({
    database,
    counter,
    historyCacheBytes,
    watchPollMs,
    onWatchFailure,
    caches,
    clock,
    ids,
  });
  const capsules = createCapsules({ database, knobTable, caches, clock, ids });
  const workspaces = createWorkspaces({ database, counter, caches, clock, ids });
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
    (turns, signal) => transcribe(offload, turns, signal),
    caches,
  );
  const compactor = new Compactor(
    { ledger, summarizers, templates, counter, offload, clock, timers, ids },
    warn("a compaction could not be made"),
    caches,
  );
  const calibrator = new Calibrator(
    new CalibrationStore(database),
    catalogue,
    clock,
    warn("calibrations could not be read or written"),
    caches,
  );
  const planSeal = new PlanSeal(await sharedSecret(database, "compaction plans"));
  const assembly: AssemblyDeps = {
    planSeal,
    ledger,
    compactor,
    calibrator,
    capsules: capsules.reader,
    workspaces: workspaces.reader,
    receipts,
    recentReceipts: new RecentReceipts(receipts, caches),
    counter,
    offload,
    catalogue,
    knobTable,
    override,
    templates,
    systemCache: createSystemCache(caches),
    toolsCache: createToolsCache(caches),
    settings,
    clock,
    ids,
  };
  const before = (hours: number) => toMicroseconds(clock.now() - hours * hourMs);
  const sweep = () => {
    ledger.sessions
      .forgetAnswers(before(config.requestRetentionHours))
      .catch(warn("stored answers could not be swept"));
    receipts.forget(before(config.receiptRetentionHours)).catch(warn("receipts could not be swept"));
  };
  const timer = setInterval(sweep, Math.min(hourMs, (config.requestRetentionHours * hourMs) / 4)).unref();
  sweep();
  return {
    database,
    ledger,
    capsules,
    workspaces,
    assembly,
    caches: caches.uses,
    async close() {
      clearInterval(timer);
      await ledger.watches.close();
      await compactor.close();
      await ledger.writer.idle();
      await receipts.flush();
      await calibrator.flush();
      await counter.close();
      await offload.close();
      await database.close();
    },
  };
}

function loadCatalogue(file: string): Catalogue {
  const base = parseCatalogue(readFileSync(join(packageRoot, "src", "budget", "catalogue.json"), "utf8"));
  return file ? extendCatalogue(base, readFileSync(file, "utf8")) : base;
}
