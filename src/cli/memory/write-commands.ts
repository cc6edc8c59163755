import { type Command, Option } from "commander";
import type { BlockOperation } from "../../contract/gen/quire/v1/memory.js";
import { BlockType } from "../../contract/gen/quire/v1/memory.js";
import { CliError } from "../cli-error.js";
import { unlessRefused } from "../client/unless-refused.js";
import { printable } from "../terminal/printable.js";
import { printLine, say, type Terminal } from "../terminal/terminal.js";
import {
  blockCommand,
  blockRequest,
  type MemoryFlags,
  printBlock,
  shellWord,
  whereShown,
  withBlock,
} from "./block-command.js";
import { blockTypes } from "./names.js";

interface WriteFlags extends MemoryFlags {
  readonly section: string;
  readonly create?: boolean;
  readonly type?: keyof typeof blockTypes;
  readonly pinned?: boolean;
  readonly description?: string;
}

export function setCommand(terminal: Terminal): Command {
  const command = blockCommand("set", {
    description: "set the text of a block, or a field of it",
    more: [["<text>", "what it will say"]],
    examples: [
      'quire memory set atlas notes "Ada prefers tea." --create',
      'quire memory set atlas plan "1. Call Ada" --create --type working --pinned --description "what to do next"',
      "quire memory set atlas profile '\"Ada\"' --field name",
    ],
  }).option("--field <name>", "the field to set; the text is then JSON");
  return addWriteFlags(command).action(
    (owner: string, label: string, text: string, flags: WriteFlags & { readonly field?: string }) => {
      const operation: BlockOperation["operation"] = flags.field
        ? { $case: "setField", value: { field: flags.field, valueJson: text } }
        : { $case: "setText", value: { text } };
      return write(terminal, "set", owner, label, flags, operation);
    },
  );
}

export function appendCommand(terminal: Terminal): Command {
  const command = blockCommand("append", {
    description: "add a line to the text of a block",
    more: [["<text>", "what to add"]],
    examples: [
      'quire memory append atlas notes "Ada prefers tea." --create',
      'quire memory append team:ops runbook "Restart it twice." --as human:ada',
    ],
  });
  return addWriteFlags(command).action((owner: string, label: string, text: string, flags: WriteFlags) =>
    write(terminal, "append", owner, label, flags, {
      $case: "insertText",
      value: { text, afterLine: 2 ** 31 - 1 },
    }),
  );
}

function addWriteFlags(command: Command): Command {
  return command
    .option("--section <name>", "the section, if the block has sections", "")
    .option("--create", "make the block if there is none: core, unless --type or --pinned says otherwise")
    .addOption(
      new Option("--type <type>", "with --create: when it is in its agent's context").choices(
        Object.keys(blockTypes),
      ),
    )
    .option("--pinned", "with --create: a working block that is in every context")
    .option("--description <text>", "with --create: what the block is for, which the model is told");
}

async function write(
  terminal: Terminal,
  name: string,
  owner: string,
  label: string,
  flags: WriteFlags,
  operation: BlockOperation["operation"],
): Promise<void> {
  const { create, section, description } = flags;
  const isDescribed =
    flags.type !== undefined || flags.pinned !== undefined || flags.description !== undefined;
  const configure = `quire memory configure ${shellWord(owner)} ${label}`;
  if (isDescribed && !create) {
    throw new CliError("--type, --pinned and --description are for --create", {
      exitCode: 2,
      hints: [`to change a block that is there: ${configure}`],
    });
  }
  const call = { ...blockRequest(owner, label, flags), operations: [{ section, operation }] };
  const again = `quire memory ${name} ${shellWord(owner)} ${label} <text> --create`;
  await withBlock(
    owner,
    flags,
    async (memory) => {
      const updating = memory.updateBlock(call);
      const updated = create ? await unlessRefused("BLOCK_NOT_FOUND", updating) : await updating;
      if (updated) {
        printBlock(terminal, flags, updated.block!);
        if (isDescribed) say(terminal, `the block was there already, and is what it was; ${configure}`);
        return;
      }
      const type = flags.type ? blockTypes[flags.type] : flags.pinned ? BlockType.WORKING : BlockType.CORE;
      const asked = { type, pinned: flags.pinned ?? false, description: description ?? "" };
      const { block } = await memory.createBlock({ ...call, ...asked });
      printBlock(terminal, flags, block!);
      if (!flags.json) printLine(terminal, printable(whereShown(owner, block!)));
    },
    `to make it: ${again}`,
  );
}
