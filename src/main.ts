import type { Config } from "./config/options.js";
import { createLedger, forgetOldAnswers } from "./ledger/ledger.js";
import { type RunningServer, serve } from "./server/serve.js";
import { openDatabase } from "./storage/database.js";
import { createLogger, type Logger } from "./telemetry/logger.js";
import { TokenCounter } from "./tokens/token-counter.js";

/** Builds everything, in the order that it is needed, and serves. */
export async function startServer(config: Config, logger: Logger = createLogger(config.logLevel)): Promise<RunningServer> {
  const database = await openDatabase({ url: config.database, poolSize: config.databasePoolSize });
  const counter = new TokenCounter();
  counter.prepare();
  const { historyCacheBytes, watchPollMs } = config;
  const ledger = createLedger({ database, counter, historyCacheBytes, watchPollMs });
  const sweeper = forgetOldAnswers(ledger, config.requestRetentionHours, (error) =>
    logger.warn({ cause: String(error) }, "stored answers could not be swept"),
  );
  const release = async () => {
    sweeper.stop();
    await ledger.writer.idle();
    await counter.close();
    await database.close();
  };
  try {
    const server = await serve(config, ledger, logger);
    logger.info({ addresses: server.addresses, database: database.dialect }, "serving");
    return {
      addresses: server.addresses,
      async stop() {
        await server.stop();
        await release();
        logger.info({}, "stopped");
      },
    };
  } catch (error) {
    await release();
    throw error;
  }
}
