import type { Config } from "./config/options.js";
import { openEngine } from "./engine.js";
import { type RunningServer, serve } from "./server/serve.js";
import { serverCredentials } from "./server/server-credentials.js";
import { createLogger, type Logger } from "./telemetry/logger.js";

/** Builds everything, in the order that it is needed, and serves. `onListening` is called before anybody is told. */
export async function startServer(
  config: Config,
  logger: Logger = createLogger(config.logLevel),
  onListening: () => void = () => undefined,
): Promise<RunningServer> {
  // First, so that a certificate that cannot be used leaves no database behind.
  const credentials = serverCredentials(config);
  const engine = await openEngine(config, logger);
  try {
    const server = await serve(config, engine, logger, credentials);
    onListening();
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
