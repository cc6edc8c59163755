import { openEngine } from "../src/engine.js";
import { serve } from "../src/server/serve.js";
import { createLogger } from "../src/telemetry/logger.js";
import { answerCpuQuestions } from "./assembly-client.js";
import { benchConfig } from "./assembly-fixture.js";

/** The service as it is, in a process of its own, so that its CPU is not the client's. */

const config = benchConfig(process.argv[2]!);
const logger = createLogger("silent");
const engine = await openEngine(config, logger);
const running = await serve(config, engine, logger);
answerCpuQuestions(
  () => engine.assembly.receipts.flush(),
  async () => {
    await running.stop();
    await engine.close();
  },
);
process.send?.({ address: running.addresses[0] });
