import { Command, InvalidArgumentError, Option } from "commander";
import { assembleResponseJson } from "../../contract/proto-json.js";
import { BodyFold } from "../assemble/body-fold.js";
import { bodyFormatNames } from "../assemble/body-formats.js";
import { bodyText, writeBody } from "../assemble/body-text.js";
import { type ContextFlags, contextRequest, policies, roles } from "../assemble/context-request.js";
import { LayerPrinter, type ShownLayer, shownLayers } from "../assemble/layer-printer.js";
import { readMessage } from "../assemble/read-message.js";
import { CliError } from "../cli-error.js";
import { withClient } from "../client/with-client.js";
import { isScreen, printJson, printLine, shownJson, type Terminal } from "../terminal/terminal.js";
import { printWarnings } from "../terminal/warnings.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags } from "./options.js";

interface AssembleFlags extends ServerFlags, ContextFlags {
  readonly message?: string;
  readonly show?: readonly ShownLayer[];
  readonly body?: string;
}

export function assembleCommand(terminal: Terminal): Command {
  const command = new Command("assemble")
    .description("make the context for a message, and print its layers as they arrive")
    .argument("<session>", "its label, id or alias")
    .option("--capsule <name>", "the agent's definition (default: the session's)")
    .option("--message <text>", "what the agent answers to (default: stdin)")
    .addOption(
      new Option(
        "--role <role>",
        "the part that the agent plays (default: the session's, else unified)",
      ).choices(Object.keys(roles)),
    )
    .option("--task <text>", "a worker's task (default: the session's)")
    .option("--workspace <name>", "where the agent works (default: the session's)")
    .option("--toolset <name>", "a toolset of the workspace")
    .option(
      "--block <label>",
      "a memory block that the message is about; may be given more than once",
      (label: string, labels: readonly string[] = []) => [...labels, label],
    )
    .option("--model <model>", "the model (default: the session's, else the capsule's)")
    .option("--max-tokens <n>", "the most that the context may use", positiveNumber)
    .addOption(
      new Option("--policy <policy>", "what happens when a lane is over its share").choices(
        Object.keys(policies),
      ),
    )
    .option("--clean", "history without the context that was sent with it")
    .option("--dry-run", "leave no receipt")
    .addOption(
      new Option("--render <format>", "make the provider's request body, too").choices([...bodyFormatNames]),
    )
    .option("--body <file>", "write the body to it, byte for byte; - is stdout, and nothing else on it")
    .option("--show <layers>", `print their content: any of ${shownLayers.join(",")}`, layerNames)
    .addHelpText(
      "after",
      `${examples(
        'quire assemble support-42 --capsule helper --message "Where is my order?"',
        "quire assemble support-42 --capsule helper --show system,current --dry-run < question.txt",
        "quire assemble support-42 --capsule helper --message hi --json | jq -c .completed",
        "quire assemble support-42 --capsule helper --message hi --render anthropic --body body.json",
      )}\nWith --render and --json, or into a pipe, only the body is written.\n`,
    );
  return addServerFlags(command).action(async (session: string, flags: AssembleFlags) => {
    if (flags.body !== undefined && !flags.render)
      throw new CliError("there is no body without --render <format>", { exitCode: 2 });
    const context = contextRequest(session, await readMessage(flags.message), flags);
    const printer = new LayerPrinter(terminal, flags.show);
    const isBodyOnly = writesBodyOnly(terminal, flags);
    await withClient(flags, async ({ assembly }) => {
      const fold = new BodyFold();
      for await (const response of assembly.assemble({ context })) {
        const { event } = response;
        const body = event?.$case === "rendered" ? fold.add(event.value) : undefined;
        if (body && isBodyOnly)
          terminal.stdout.write(isScreen(terminal) ? shownJson(terminal, body.body.toString()) : body.body);
        // The printer of layers says them itself.
        if (event?.$case === "completed" && (isBodyOnly || flags.json))
          printWarnings(terminal, event.value.warnings);
        if (isBodyOnly) continue;
        if (flags.json) printJson(terminal, assembleResponseJson.toJson(response));
        else printer.print(response);
        if (body && flags.body !== undefined) await writeBody(flags.body, body);
        else if (body) printLine(terminal, bodyText(body));
      }
    });
  });
}

/** Whether stdout is for the body alone: it is asked for, or another program reads it. */
function writesBodyOnly(terminal: Terminal, { render, body, json }: AssembleFlags): boolean {
  if (!render || (body !== undefined && body !== "-")) return false;
  return body === "-" || json === true || !isScreen(terminal);
}

function layerNames(value: string): readonly ShownLayer[] {
  const names = value.split(",").map((name) => name.trim());
  const isLayer = (name: string): name is ShownLayer => shownLayers.some((layer) => layer === name);
  if (names.every(isLayer)) return names;
  throw new InvalidArgumentError(`Allowed are ${shownLayers.join(", ")}, with commas between.`);
}
