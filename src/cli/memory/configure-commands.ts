import { type Command, Option } from "commander";
import { CliError } from "../cli-error.js";
import { positiveNumber } from "../commands/options.js";
import { printable } from "../terminal/printable.js";
import { printJson, printLine, type Terminal } from "../terminal/terminal.js";
import {
  blockCommand,
  blockRequest,
  type MemoryFlags,
  printBlock,
  whereShown,
  withBlock,
} from "./block-command.js";
import { blockPermissions, blockTypes } from "./names.js";

interface ConfigureFlags extends MemoryFlags {
  readonly type?: keyof typeof blockTypes;
  readonly pin?: boolean;
  readonly unpin?: boolean;
  readonly description?: string;
  readonly permission?: keyof typeof blockPermissions;
  readonly limit?: number;
}

export function configureCommand(terminal: Terminal): Command {
  return blockCommand("configure", {
    description: "change when a block is shown, what it is for, and who may write it",
    examples: [
      "quire memory configure atlas notes --pin",
      "quire memory configure atlas notes --type core --limit 5000",
      'quire memory configure atlas notes --permission human --description "house rules"',
    ],
  })
    .addOption(
      new Option("--type <type>", "when it is in its agent's context").choices(Object.keys(blockTypes)),
    )
    .addOption(new Option("--pin", "keep a working block in every context of its agent").conflicts(["unpin"]))
    .option("--unpin", "no longer do that")
    .option("--description <text>", "what the block is for, which the model is told")
    .addOption(
      new Option("--permission <name>", "what may be done to it").choices(Object.keys(blockPermissions)),
    )
    .option("--limit <chars>", "how many characters it may have", positiveNumber)
    .action(async (owner: string, label: string, flags: ConfigureFlags) => {
      const changes = changesOf(flags);
      if (Object.keys(changes).length === 0)
        throw new CliError("there is nothing to change: give --type, --pin, --unpin, ...", { exitCode: 2 });
      const call = { ...blockRequest(owner, label, flags), ...changes };
      await withBlock(owner, flags, async (memory) => {
        const block = (await memory.configureBlock(call)).block!;
        printBlock(terminal, flags, block);
        if (!flags.json) printLine(terminal, printable(whereShown(owner, block)));
      });
    });
}

function changesOf({ type, pin, unpin, description, permission, limit }: ConfigureFlags) {
  return {
    ...(type ? { type: blockTypes[type] } : {}),
    ...(pin || unpin ? { pinned: pin ?? false } : {}),
    ...(description === undefined ? {} : { description }),
    ...(permission ? { permission: blockPermissions[permission] } : {}),
    ...(limit === undefined ? {} : { charLimit: limit }),
  };
}

export function deleteCommand(terminal: Terminal): Command {
  return blockCommand("delete", {
    description: "remove a block with all its revisions; nothing of it can be restored",
    examples: ["quire memory delete atlas notes"],
  }).action((owner: string, label: string, flags: MemoryFlags) =>
    withBlock(owner, flags, async (memory) => {
      const { deletedRevisions } = await memory.deleteBlock(blockRequest(owner, label, flags));
      if (flags.json) return printJson(terminal, { label, deletedRevisions });
      const words = deletedRevisions === 1 ? "its revision" : `all ${deletedRevisions} revisions`;
      printLine(terminal, printable(`block ${label}: deleted, with ${words}`));
    }),
  );
}
