import { Command } from "commander";
import { clientOptions, defaultAddress } from "../../config/client-options.js";
import { withClient } from "../client/with-client.js";
import { toolset } from "../demo/agent.js";
import { type DemoServer, findOrStartServer, startOwn } from "../demo/demo-server.js";
import { type DemoResult, runDemo } from "../demo/run-demo.js";
import { printLine, say, type Terminal } from "../terminal/terminal.js";
import { addAddressFlags, examples, type ServerFlags } from "./options.js";

interface DemoFlags extends ServerFlags {
  readonly own?: boolean;
}

export function demoCommand(terminal: Terminal): Command {
  const command = new Command("demo")
    .description("seed a small agent and show, step by step, how its contexts are made")
    .option("--own", "on a server of its own, whether or not one runs")
    .addHelpText("after", examples("quire demo", "quire demo --own", "quire demo --address 127.0.0.1:50051"));
  return addAddressFlags(command).action(async (flags: DemoFlags) => {
    const server = flags.own ? await startOwn() : await findOrStartServer(flags);
    try {
      await demo(terminal, server, flags.own ? "" : clientOptions(flags).address);
    } finally {
      await server.stop();
    }
  });
}

async function demo(terminal: Terminal, server: DemoServer, asked: string): Promise<void> {
  const where = server.isOwn
    ? `${asked === "" ? "" : `no Quire server answers at ${asked}: `}this demo runs on a server of its own, with a database that is removed afterwards`
    : `this demo runs on the server at ${asked}, and leaves its data there`;
  say(terminal, `${where}\n`);
  const name = demoName(new Date());
  const result = await withClient(server.flags, (client) => runDemo(terminal, client, name));
  printLine(terminal, `\n${server.isOwn ? keepHint : lookHints(name, result, asked)}`);
}

/** demo-20260131-235959-123: another one for each run. */
function demoName(now: Date): string {
  const [date, time] = now.toISOString().replaceAll(/[-:Z]/g, "").split("T") as [string, string];
  return `demo-${date}-${time.replace(".", "-")}`;
}

const keepHint = `To keep what the demo makes: quire serve in one terminal, quire demo in another.`;

function lookHints(name: string, { assemblyId, fork }: DemoResult, asked: string): string {
  const address = asked === defaultAddress ? "" : ` --address ${asked}`;
  const agent = `--capsule ${name} --workspace ${name} --toolset ${toolset.name}`;
  const commands = [
    `turns ${name} --messages`,
    `receipt ${assemblyId}`,
    `capsule show ${name}`,
    `workspace show ${name}`,
    `assemble ${fork} ${agent} --show system,current --message "And now?"`,
  ];
  return ["To look at it:", ...commands.map((command) => `  npx quire ${command}${address}`)].join("\n");
}
