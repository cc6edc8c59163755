import { Command, InvalidArgumentError, Option } from "commander";
import { type ContextFlags, contextRequest, policies, roles } from "../assemble/context-request.js";
import { LayerPrinter, type ShownLayer, shownLayers } from "../assemble/layer-printer.js";
import { readMessage } from "../assemble/read-message.js";
import { Assemblies } from "../client/assemblies.js";
import { withClient } from "../client/calls.js";
import { assembleResponseJson } from "../proto-json.js";
import { printJson, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags } from "./options.js";

interface AssembleFlags extends ServerFlags, ContextFlags {
  readonly message?: string;
  readonly show?: readonly ShownLayer[];
}

export function assembleCommand(terminal: Terminal): Command {
  const command = new Command("assemble")
    .description("make the context for a message, and print its layers as they arrive")
    .argument("<session>", "its label, id or alias")
    .requiredOption("--capsule <name>", "the agent's definition")
    .option("--message <text>", "what the agent answers to (default: stdin)")
    .addOption(
      new Option("--role <role>", "the part that the agent plays (default: unified)").choices(
        Object.keys(roles),
      ),
    )
    .option("--workspace <name>", "where the agent works")
    .option("--toolset <name>", "a toolset of the workspace")
    .option("--model <model>", "the model (default: the capsule's)")
    .option("--max-tokens <n>", "the most that the context may use", positiveNumber)
    .addOption(
      new Option("--policy <policy>", "what happens when a lane is over its share").choices(
        Object.keys(policies),
      ),
    )
    .option("--clean", "history without the context that was sent with it")
    .option("--dry-run", "leave no receipt")
    .option("--show <layers>", `print their content: any of ${shownLayers.join(",")}`, layerNames)
    .addHelpText(
      "after",
      examples(
        'quire assemble support-42 --capsule helper --message "Where is my order?"',
        "quire assemble support-42 --capsule helper --show system,current --dry-run < question.txt",
        "quire assemble support-42 --capsule helper --message hi --json | jq -c .completed",
      ),
    );
  return addServerFlags(command).action(async (session: string, flags: AssembleFlags) => {
    const request = contextRequest(session, await readMessage(flags.message), flags);
    const printer = new LayerPrinter(terminal, flags.show);
    await withClient(Assemblies, flags, async (assemblies) => {
      for await (const response of assemblies.assemble(request)) {
        if (flags.json) printJson(terminal, assembleResponseJson.toJson(response));
        else printer.print(response);
      }
    });
  });
}

function layerNames(value: string): readonly ShownLayer[] {
  const names = value.split(",").map((name) => name.trim());
  const isLayer = (name: string): name is ShownLayer => shownLayers.some((layer) => layer === name);
  if (names.every(isLayer)) return names;
  throw new InvalidArgumentError(`Allowed are ${shownLayers.join(", ")}, with commas between.`);
}
