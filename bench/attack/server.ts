import { loadConfig } from "../../src/config/load-config.js";
import { startServer } from "../../src/main.js";
import { reportStalls } from "./stalls.js";

/** The server as it is, in a process of its own, with its event loop watched. Settings by argument. */
const server = await startServer(loadConfig({ env: {}, flags: JSON.parse(process.argv[2]!) }));
process.on("disconnect", () => process.exit(0));
reportStalls();
process.send?.({ address: server.addresses[0] });
