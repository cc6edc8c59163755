import { Command, Option } from "commander";
import { createTwoFilesPatch } from "diff";
import {
  type Block,
  type BlockActor,
  BlockPermission,
  type BlockRevision,
} from "../../contract/gen/quire/v1/memory.js";
import { blockJson, blockRevisionJson } from "../../contract/proto-json.js";
import type { Memory } from "../client/quire-client.js";
import { readPages } from "../client/read-pages.js";
import { withClient } from "../client/with-client.js";
import { readActor, readOwner, shortName } from "../memory/names.js";
import { type ListLook, printList } from "../terminal/list.js";
import { localTime, oneLine, printable } from "../terminal/printable.js";
import { printJson, printLine, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags } from "./options.js";

interface MemoryFlags extends ServerFlags {
  readonly as?: Pick<BlockActor, "kind" | "name">;
}

export function memoryCommand(terminal: Terminal): Command {
  return new Command("memory")
    .description("read and write agents' memory blocks")
    .addCommand(listCommand(terminal))
    .addCommand(showCommand(terminal))
    .addCommand(setCommand(terminal))
    .addCommand(appendCommand(terminal))
    .addCommand(diffCommand(terminal))
    .addCommand(historyCommand(terminal))
    .addCommand(restoreCommand(terminal))
    .addCommand(shareCommand(terminal))
    .addHelpText(
      "after",
      `${examples("quire memory ls entropy", 'quire memory append entropy notes "Call Ada back."', "quire memory history entropy notes")}
An owner is an agent, by the name of its capsule, or person:<name>, team:<name> or project:<name>.
`,
    );
}

/** A command on one block. */
function blockCommand(
  name: string,
  description: string,
  ...more: readonly (readonly [string, string])[]
): Command {
  const command = new Command(name)
    .description(description)
    .argument("<owner>", "whose block: an agent, or team:<name>, ...")
    .argument("<label>", "its label");
  for (const [argument, words] of more) command.argument(argument, words);
  return addServerFlags(withActor(command));
}

function withActor(command: Command): Command {
  return command.option("--as <actor>", "who does it: agent:<name>, human, partner or system", readActor);
}

function request(owner: string, label: string, { as: actor }: MemoryFlags) {
  return { block: { owner: readOwner(owner), label }, ...(actor ? { actor } : {}) };
}

function listCommand(terminal: Terminal): Command {
  const command = new Command("ls")
    .description("list blocks")
    .argument("[owner]", "whose blocks (default: everybody's)")
    .option("--prefix <text>", "only labels that begin so", "")
    .option("--limit <n>", "how many at most", positiveNumber, 50);
  return addServerFlags(withActor(command)).action(
    (owner: string | undefined, flags: MemoryFlags & { readonly prefix: string; readonly limit: number }) =>
      withClient(flags, async ({ memory }) => {
        const fixed = {
          labelPrefix: flags.prefix,
          ...(owner ? { owner: readOwner(owner) } : {}),
          ...(flags.as ? { actor: flags.as } : {}),
        };
        const read = (page: object) => memory.listBlocks({ ...fixed, ...page });
        printList(terminal, await readPages(flags.limit, read, ({ blocks }) => blocks), blockLook, flags);
      }),
  );
}

const blockLook: ListLook<Block> = {
  toJson: blockJson.toJson,
  columns: ["OWNER", "LABEL", "TYPE", "PERMISSION", "REVISION", "CHARS", "LIMIT", "TOKENS", "UPDATED"],
  numbers: ["REVISION", "CHARS", "LIMIT", "TOKENS"],
  row: (block) => [
    oneLine(`${shortName(block.owner!.kind, "OWNER_KIND_")}:${block.owner!.name}`.replace(/^agent:/, ""), 40),
    oneLine(block.label, 40),
    `${shortName(block.type, "BLOCK_TYPE_")}${block.pinned ? ", pinned" : ""}`,
    shortName(block.permission, "BLOCK_PERMISSION_"),
    String(block.revision),
    String(block.chars),
    String(block.charLimit),
    String(block.o200kTokens),
    localTime(block.updateTime),
  ],
  none: "there are no blocks",
};

function showCommand(terminal: Terminal): Command {
  return blockCommand("show", "show a block as a model reads it")
    .option("--revision <n>", "as it was after this revision", positiveNumber)
    .action((owner: string, label: string, flags: MemoryFlags & { readonly revision?: number }) =>
      withClient(flags, async ({ memory }) => {
        if (flags.revision !== undefined)
          return printLine(terminal, printable(await textAt(memory, owner, label, flags, flags.revision)));
        const block = (await memory.getBlock(request(owner, label, flags))).block!;
        if (flags.json) return printJson(terminal, blockJson.toJson(block));
        printLine(terminal, printable(block.rendered));
      }),
    );
}

async function textAt(
  memory: Memory,
  owner: string,
  label: string,
  flags: MemoryFlags,
  revision: number,
): Promise<string> {
  return (await memory.getBlockRevision({ ...request(owner, label, flags), revision })).text;
}

function setCommand(terminal: Terminal): Command {
  return blockCommand("set", "set the text of a block, or a field of it", ["<text>", "what it will say"])
    .option("--field <name>", "the field to set; the text is then JSON")
    .option("--section <name>", "the section, if the block has sections", "")
    .option("--create", "make the block if there is none")
    .action(async (owner: string, label: string, text: string, flags: MemoryFlags & SetFlags) =>
      withClient(flags, async ({ memory }) => {
        const value = flags.field ? { field: flags.field, valueJson: text } : { text };
        const $case = flags.field ? "setField" : "setText";
        const operations = [{ section: flags.section, operation: { $case, value } as never }];
        const call = { ...request(owner, label, flags), operations };
        const isNew = flags.create && !(await exists(memory, owner, label, flags));
        told(terminal, flags, (await (isNew ? memory.createBlock(call) : memory.updateBlock(call))).block!);
      }),
    );
}

interface SetFlags {
  readonly field?: string;
  readonly section: string;
  readonly create?: boolean;
}

async function exists(memory: Memory, owner: string, label: string, flags: MemoryFlags): Promise<boolean> {
  const { blocks } = await memory.listBlocks({
    owner: readOwner(owner),
    labelPrefix: label,
    pageSize: 1_000,
    ...(flags.as ? { actor: flags.as } : {}),
  });
  return blocks.some((block) => block.label === label);
}

function appendCommand(terminal: Terminal): Command {
  return blockCommand("append", "add a line to the text of a block", ["<text>", "what to add"])
    .option("--section <name>", "the section, if the block has sections", "")
    .action((owner: string, label: string, text: string, flags: MemoryFlags & { readonly section: string }) =>
      withClient(flags, async ({ memory }) => {
        const operation = { $case: "insertText" as const, value: { text, afterLine: 2 ** 31 - 1 } };
        const operations = [{ section: flags.section, operation }];
        const { block } = await memory.updateBlock({ ...request(owner, label, flags), operations });
        told(terminal, flags, block!);
      }),
    );
}

function told(terminal: Terminal, { json }: ServerFlags, block: Block): void {
  const { label, revision, chars, charLimit } = block;
  const words = `block ${label}: revision ${revision}, ${chars} of ${charLimit} characters`;
  if (json) printJson(terminal, blockJson.toJson(block));
  else printLine(terminal, printable(words));
}

function diffCommand(terminal: Terminal): Command {
  return blockCommand(
    "diff",
    "show what changed between two revisions",
    ["<from>", "a revision"],
    ["[to]", "a later one (default: the newest)"],
  ).action((owner: string, label: string, from: string, to: string | undefined, flags: MemoryFlags) =>
    withClient(flags, async ({ memory }) => {
      const first = positiveNumber(from);
      const newest = to ?? String((await memory.getBlock(request(owner, label, flags))).block!.revision);
      const last = positiveNumber(newest);
      const [before, after] = [
        await textAt(memory, owner, label, flags, first),
        await textAt(memory, owner, label, flags, last),
      ];
      const patch = createTwoFilesPatch(`revision ${first}`, `revision ${last}`, `${before}\n`, `${after}\n`);
      if (flags.json) return printJson(terminal, { from: first, to: last, patch });
      printLine(terminal, printable(patch.split("\n").slice(1).join("\n").trimEnd()));
    }),
  );
}

function historyCommand(terminal: Terminal): Command {
  return blockCommand("history", "list the revisions of a block, newest first")
    .option("--limit <n>", "how many at most", positiveNumber, 50)
    .action((owner: string, label: string, flags: MemoryFlags & { readonly limit: number }) =>
      withClient(flags, async ({ memory }) => {
        const read = (page: object) =>
          memory.listBlockRevisions({ ...request(owner, label, flags), ...page });
        const list = await readPages(flags.limit, read, ({ revisions }) => revisions);
        printList(terminal, list, revisionLook, flags);
      }),
    );
}

const revisionLook: ListLook<BlockRevision> = {
  toJson: blockRevisionJson.toJson,
  columns: ["REVISION", "TIME", "BY", "WHAT"],
  numbers: ["REVISION"],
  row: ({ revision, createTime, actor, summary }) => [
    String(revision),
    localTime(createTime),
    oneLine([shortName(actor!.kind, "ACTOR_KIND_"), actor!.name].filter((part) => part !== "").join(" "), 40),
    oneLine(summary, 80),
  ],
  none: "there are no revisions",
};

function restoreCommand(terminal: Terminal): Command {
  return blockCommand("restore", "make a block again what it was after a revision", [
    "<revision>",
    "which one",
  ]).action((owner: string, label: string, revision: string, flags: MemoryFlags) =>
    withClient(flags, async ({ memory }) => {
      const call = { ...request(owner, label, flags), revision: positiveNumber(revision) };
      told(terminal, flags, (await memory.restoreBlock(call)).block!);
    }),
  );
}

const permissions: Readonly<Record<string, BlockPermission>> = {
  "read-only": BlockPermission.READ_ONLY,
  append: BlockPermission.APPEND,
  "read-write": BlockPermission.READ_WRITE,
  admin: BlockPermission.ADMIN,
};

function shareCommand(terminal: Terminal): Command {
  return blockCommand("share", "let another agent use a block, or no longer", ["<agent>", "with whom"])
    .addOption(
      new Option("--permission <name>", "what it may do")
        .choices(Object.keys(permissions))
        .default("read-only"),
    )
    .option("--remove", "take the block away from it again")
    .action(
      (
        owner: string,
        label: string,
        agent: string,
        flags: MemoryFlags & { permission: string; remove?: boolean },
      ) =>
        withClient(flags, async ({ memory }) => {
          const call = { ...request(owner, label, flags), agent };
          if (flags.remove) await memory.unshareBlock(call);
          else await memory.shareBlock({ ...call, permission: permissions[flags.permission]! });
          const { shares } = await memory.listBlockShares(request(owner, label, flags));
          const all = shares.map((share) => ({
            agent: share.agent,
            permission: shortName(share.permission, "BLOCK_PERMISSION_"),
          }));
          if (flags.json) return printJson(terminal, { label, shares: all });
          const words = all.map((share) => `${share.agent} (${share.permission})`).join(", ") || "nobody";
          printLine(terminal, printable(`block ${label}: shared with ${words}`));
        }),
    );
}
