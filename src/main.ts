import type { Config } from "./config/options.js";
import { openEngine } from "./engine.js";
import { type RunningServer, serve } from "./server/serve.js";
import { createLogger, type Logger } from "./telemetry/logger.js";

/** Builds everything, in the order that it is needed, and serves. */
export async function startServer(
  config: Config,
  logger: Logger = createLogger(config.logLevel),
): Promise<RunningServer> {
  const engine = await openEngine(config, logger);
  try {
    const server = await serve(config, engine, logger);
    logger.info({ addresses: server.addresses, database: engine.database.dialect }, "serving");
    return {
      addresses: server.addresses,
      async stop() {
        await server.stop();
        await engine.close();
        logger.info({}, "stopped");
      },
    };
  } catch (error) {
    await engine.close();
    throw error;
  }
}
