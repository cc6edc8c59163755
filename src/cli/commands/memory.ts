import { Command, Option } from "commander";
import { createTwoFilesPatch } from "diff";
import { type Block, type BlockRevision, OwnerKind } from "../../contract/gen/quire/v1/memory.js";
import { blockJson, blockRevisionJson } from "../../contract/proto-json.js";
import type { Memory } from "../client/quire-client.js";
import { readPages } from "../client/read-pages.js";
import { withClient } from "../client/with-client.js";
import {
  blockCommand,
  blockRequest,
  type MemoryFlags,
  printBlock,
  withActor,
  withBlock,
} from "../memory/block-command.js";
import { configureCommand, deleteCommand } from "../memory/configure-commands.js";
import { blockPermissions, blockTypes, readOwner, shortName } from "../memory/names.js";
import { appendCommand, setCommand } from "../memory/write-commands.js";
import { type ListLook, printList } from "../terminal/list.js";
import { localTime, oneLine, printable, rounded } from "../terminal/printable.js";
import { printJson, printLine, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, positiveNumber } from "./options.js";

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
    .addCommand(configureCommand(terminal))
    .addCommand(shareCommand(terminal))
    .addCommand(deleteCommand(terminal))
    .addHelpText(
      "after",
      `${examples('quire memory set atlas notes "Ada prefers tea." --create', 'quire memory append atlas notes "Call Ada back."', "quire memory ls atlas", "quire memory history atlas notes")}
An owner is an agent, by the name of its capsule, or person:<name>, team:<name> or project:<name>.
`,
    );
}

function listCommand(terminal: Terminal): Command {
  const command = new Command("ls")
    .description("list blocks")
    .argument("[owner]", "whose blocks (default: everybody's)")
    .option("--prefix <text>", "only labels that begin so", "")
    .addOption(new Option("--type <type>", "only blocks of this type").choices(Object.keys(blockTypes)))
    .option("--shared", "only blocks that are shared: with the agent of --as, or with anybody")
    .option("--limit <n>", "how many at most", positiveNumber, 50)
    .addHelpText(
      "after",
      examples(
        "quire memory ls",
        "quire memory ls atlas --prefix plan",
        "quire memory ls --as agent:flux --shared",
      ),
    );
  return addServerFlags(withActor(command)).action((owner: string | undefined, flags: ListFlags) =>
    withClient(flags, async ({ memory }) => {
      const fixed = {
        labelPrefix: flags.prefix,
        ...(owner ? { owner: readOwner(owner) } : {}),
        ...(flags.as ? { actor: flags.as } : {}),
        ...(flags.type ? { type: blockTypes[flags.type] } : {}),
        ...(flags.shared ? { shared: true } : {}),
      };
      const read = (page: object) => memory.listBlocks({ ...fixed, ...page });
      const look = { ...blockLook, none: noneWords(owner) };
      printList(terminal, await readPages(flags.limit, read, ({ blocks }) => blocks), look, flags);
    }),
  );
}

type ListFlags = MemoryFlags & {
  readonly prefix: string;
  readonly type?: keyof typeof blockTypes;
  readonly shared?: boolean;
  readonly limit: number;
};

/** An agent without blocks of its own may use others'. */
function noneWords(owner: string | undefined): string {
  if (!owner || readOwner(owner).kind !== OwnerKind.AGENT) return blockLook.none;
  const { name } = readOwner(owner);
  return `${printable(name)} owns no such block; what it can use: quire memory ls --as agent:${printable(name)}`;
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
    rounded(block.chars),
    rounded(block.charLimit),
    rounded(block.o200kTokens),
    localTime(block.updateTime),
  ],
  none: "there are no blocks",
};

function showCommand(terminal: Terminal): Command {
  return blockCommand("show", {
    description: "show a block as a model reads it",
    examples: ["quire memory show atlas notes", "quire memory show atlas notes --revision 1"],
  })
    .option("--revision <n>", "as it was after this revision", positiveNumber)
    .action((owner: string, label: string, flags: MemoryFlags & { readonly revision?: number }) =>
      withBlock(owner, flags, async (memory) => {
        if (flags.revision !== undefined)
          return printLine(terminal, printable(await textAt(memory, owner, label, flags, flags.revision)));
        const block = (await memory.getBlock(blockRequest(owner, label, flags))).block!;
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
  return (await memory.getBlockRevision({ ...blockRequest(owner, label, flags), revision })).text;
}

function diffCommand(terminal: Terminal): Command {
  return blockCommand("diff", {
    description: "show what changed between two revisions",
    more: [
      ["<from>", "a revision", positiveNumber],
      ["[to]", "a later one (default: the newest)", positiveNumber],
    ],
    examples: ["quire memory diff atlas notes 1", "quire memory diff atlas notes 3 5"],
  }).action((owner: string, label: string, first: number, to: number | undefined, flags: MemoryFlags) =>
    withBlock(owner, flags, async (memory) => {
      const last = to ?? (await memory.getBlock(blockRequest(owner, label, flags))).block!.revision;
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
  return blockCommand("history", {
    description: "list the revisions of a block, newest first",
    examples: ["quire memory history atlas notes --limit 10"],
  })
    .option("--limit <n>", "how many at most", positiveNumber, 50)
    .action((owner: string, label: string, flags: MemoryFlags & { readonly limit: number }) =>
      withBlock(owner, flags, async (memory) => {
        const read = (page: object) =>
          memory.listBlockRevisions({ ...blockRequest(owner, label, flags), ...page });
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
  return blockCommand("restore", {
    description: "make a block again what it was after a revision",
    more: [["<revision>", "which one", positiveNumber]],
    examples: ["quire memory restore atlas notes 1"],
  }).action((owner: string, label: string, revision: number, flags: MemoryFlags) =>
    withBlock(owner, flags, async (memory) => {
      const call = { ...blockRequest(owner, label, flags), revision };
      printBlock(terminal, flags, (await memory.restoreBlock(call)).block!);
    }),
  );
}

const sharePermissions = ["read-only", "append", "read-write", "admin"] as const;

function shareCommand(terminal: Terminal): Command {
  return blockCommand("share", {
    description: "let another agent use a block, or no longer",
    more: [["<agent>", "with whom"]],
    examples: [
      "quire memory share team:ops runbook atlas --permission append",
      "quire memory share team:ops runbook atlas --remove",
    ],
  })
    .addOption(
      new Option("--permission <name>", "what it may do").choices([...sharePermissions]).default("read-only"),
    )
    .option("--remove", "take the block away from it again")
    .action(
      (
        owner: string,
        label: string,
        agent: string,
        flags: MemoryFlags & { permission: (typeof sharePermissions)[number]; remove?: boolean },
      ) =>
        withBlock(owner, flags, async (memory) => {
          const call = { ...blockRequest(owner, label, flags), agent };
          if (flags.remove) await memory.unshareBlock(call);
          else await memory.shareBlock({ ...call, permission: blockPermissions[flags.permission] });
          const { shares } = await memory.listBlockShares(blockRequest(owner, label, flags));
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
