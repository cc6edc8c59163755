import { Command } from "commander";
import { type Block, type BlockActor, BlockType, OwnerKind } from "../../contract/gen/quire/v1/memory.js";
import { blockJson } from "../../contract/proto-json.js";
import { CliError } from "../cli-error.js";
import { CallError } from "../client/call-error.js";
import type { Memory } from "../client/quire-client.js";
import { withClient } from "../client/with-client.js";
import { addServerFlags, examples, type ServerFlags } from "../commands/options.js";
import { printable } from "../terminal/printable.js";
import { printJson, printLine, type Terminal } from "../terminal/terminal.js";
import { readActor, readOwner } from "./names.js";

export interface MemoryFlags extends ServerFlags {
  readonly as?: Pick<BlockActor, "kind" | "name">;
}

interface CommandWords {
  readonly description: string;
  /** Arguments after the owner and the label, each with its description and how it is read. */
  readonly more?: readonly (readonly [string, string, ((text: string) => unknown)?])[];
  readonly examples: readonly string[];
}

/** A command on one block. */
export function blockCommand(
  name: string,
  { description, more = [], examples: lines }: CommandWords,
): Command {
  const command = new Command(name)
    .description(description)
    .argument("<owner>", "whose block: an agent, or team:<name>, person:<name>, project:<name>")
    .argument("<label>", "its label");
  for (const [argument, words, read = String] of more)
    command.argument(argument, words, (text) => read(text));
  return addServerFlags(withActor(command)).addHelpText("after", examples(...lines));
}

export function withActor(command: Command): Command {
  return command.option("--as <actor>", "who does it: agent:<name>, human, partner or system", readActor);
}

export function blockRequest(owner: string, label: string, { as: actor }: MemoryFlags) {
  return { block: { owner: readOwner(owner), label }, ...(actor ? { actor } : {}) };
}

/** Runs a piece of work on one block. Where there is no such block, says what to try. */
export async function withBlock<T>(
  owner: string,
  flags: ServerFlags,
  work: (memory: Memory) => Promise<T>,
  hint = `what there is: quire memory ls ${shellWord(owner)}`,
): Promise<T> {
  try {
    return await withClient(flags, ({ memory }) => work(memory));
  } catch (error) {
    if (!(error instanceof CallError && error.reason === "BLOCK_NOT_FOUND")) throw error;
    const { message, details } = error;
    throw new CliError(message, { hints: [hint], details, cause: error });
  }
}

export function printBlock(terminal: Terminal, { json }: ServerFlags, block: Block): void {
  const { label, revision, chars, charLimit } = block;
  const words = `block ${label}: revision ${revision}, ${chars} of ${charLimit} characters`;
  if (json) printJson(terminal, blockJson.toJson(block));
  else printLine(terminal, printable(words));
}

/** Which contexts a block is in, and how it gets into others. */
export function whereShown(owner: string, { owner: whose, label, type, pinned }: Block): string {
  const isOwn = whose!.kind === OwnerKind.AGENT;
  const share = isOwn ? "" : `; share it: quire memory share ${shellWord(owner)} ${label} <agent>`;
  if (type === BlockType.CORE || (type === BlockType.WORKING && pinned)) {
    const whom = isOwn ? whose!.name : "agents that it is shared with";
    return `it is in every context of ${whom}, in the system prompt${share}`;
  }
  const named = `in no context but where a request names it: quire assemble --block ${label}`;
  const pin = `to have it in every one: quire memory configure ${shellWord(owner)} ${label}`;
  return `it is ${named}\n${pin} ${type === BlockType.WORKING ? "--pin" : "--type core"}${share}`;
}

/** A word as a shell takes it. */
export function shellWord(text: string): string {
  return /^[\p{L}\p{N}_.:@/-]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
