/** A server in a process of its own, from the build: settings by argument, questions and answers by IPC. */
import { loadConfig } from "../../dist/src/config/load-config.js";
import { startServer } from "../../dist/src/main.js";

const server = await startServer(loadConfig({ env: {}, flags: JSON.parse(process.argv[2]) }));

process.on("disconnect", () => process.exit(1));
process.on("message", async (question) => {
  if (question === "memory") {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 50));
    globalThis.gc();
    process.send({ ...process.memoryUsage(), handles: process.getActiveResourcesInfo().length });
  } else {
    await server.stop();
    process.disconnect();
    process.exit(0);
  }
});
process.send(server.addresses);
