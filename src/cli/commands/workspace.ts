import { basename } from "node:path";
import { Command } from "commander";
import type { Workspace } from "../../contract/gen/quire/v1/workspace.js";
import { workspaceJson } from "../../contract/proto-json.js";
import type { Workspaces } from "../client/quire-client.js";
import { readPages } from "../client/read-pages.js";
import { withClient } from "../client/with-client.js";
import { reportError } from "../report-error.js";
import { type ListLook, printList } from "../terminal/list.js";
import { counted, localTime, oneLine, printable, rounded } from "../terminal/printable.js";
import { table } from "../terminal/table.js";
import { printJson, printLine, say, type Terminal } from "../terminal/terminal.js";
import { isChanged, kindName, type PushReport, pushFolder } from "../workspace/push-folder.js";
import { readFolder } from "../workspace/read-folder.js";
import { watchWorkspace } from "../workspace/watch-workspace.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags } from "./options.js";

export function workspaceCommand(terminal: Terminal): Command {
  return new Command("workspace")
    .description("send a folder's documents, and show what the server has of it")
    .addCommand(pushCommand(terminal))
    .addCommand(showCommand(terminal))
    .addCommand(listCommand(terminal))
    .addHelpText("after", examples("quire workspace push .", "quire workspace show home"));
}

interface PushFlags extends ServerFlags {
  readonly name?: string;
  readonly watch?: boolean;
}

function pushCommand(terminal: Terminal): Command {
  const command = new Command("push")
    .description("make a workspace hold a folder's Markdown, capabilities.json and toolsets/*.json")
    .argument("<dir>", "the folder")
    .option("--name <name>", "the workspace's name (default: the folder's)")
    .option("--watch", "go on and push what changes, until Ctrl-C")
    .addHelpText(
      "after",
      examples("quire workspace push .", "quire workspace push ~/agent --name home --watch"),
    );
  return addServerFlags(command).action((folder: string, flags: PushFlags) =>
    withClient(flags, ({ workspaces }) => push(terminal, workspaces, folder, flags)),
  );
}

async function push(
  terminal: Terminal,
  workspaces: Workspaces,
  folder: string,
  flags: PushFlags,
): Promise<void> {
  const found = await readFolder(folder);
  const name = flags.name ?? basename(found.root);
  printPush(terminal, await pushFolder(workspaces, name, found), flags);
  if (!flags.watch) return;
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  say(terminal, `watching ${printable(found.root)}; Ctrl-C stops it`);
  try {
    await watchWorkspace(workspaces, {
      folder: found.root,
      name,
      signal: stopped.signal,
      onPush: (report) => isChanged(report) && printPush(terminal, report, flags),
      onError: (error) => reportError(terminal, error, flags.json === true),
    });
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

function printPush(terminal: Terminal, report: PushReport, { json }: PushFlags): void {
  if (json) {
    printJson(terminal, report);
    return;
  }
  const rows = report.documents.map(({ path, kind, version, tokens, change }) => [
    printable(path),
    kind,
    String(version),
    rounded(tokens),
    change,
  ]);
  const columns = ["DOCUMENT", "KIND", "VERSION", "TOKENS", "CHANGE"];
  if (rows.length > 0) printLine(terminal, table(columns, rows, ["VERSION", "TOKENS"]));
  else say(terminal, "the folder holds no Markdown documents");
  if (report.capabilities) {
    const { count, change } = report.capabilities;
    printLine(terminal, `capabilities: ${count}, ${change}`);
  }
  for (const { name, tools, version, tokens, change } of report.toolsets) {
    const size = `${counted(tools, "tool")}, version ${version}, ${counted(tokens, "token")}`;
    printLine(terminal, `toolset ${printable(name)}: ${size}, ${change}`);
  }
  for (const { path, why } of report.skipped) say(terminal, `left out: ${printable(path)} ${why}`);
}

function showCommand(terminal: Terminal): Command {
  const command = new Command("show")
    .description("show a workspace")
    .argument("<name>", "its name")
    .addHelpText("after", examples("quire workspace show home"));
  return addServerFlags(command).action((name: string, flags: ServerFlags) =>
    withClient(flags, async ({ workspaces }) => {
      const workspace = (await workspaces.getWorkspace({ name })).workspace!;
      if (flags.json) return printJson(terminal, workspaceJson.toJson(workspace));
      printWorkspace(terminal, workspace);
    }),
  );
}

function printWorkspace(terminal: Terminal, workspace: Workspace): void {
  const { runtime, documents } = workspace;
  const facts = [
    ["name", workspace.name],
    ["path", workspace.path],
    ["runtime", runtime ? `${runtime.host}, ${runtime.os}, ${runtime.arch}` : ""],
    ["capabilities", String(workspace.capabilityCount)],
    ["toolsets", workspace.toolsets.join(", ")],
    ["updated", localTime(workspace.updateTime)],
  ] as const;
  for (const [fact, value] of facts) printLine(terminal, `${fact.padEnd(12)}  ${oneLine(value, 200) || "-"}`);
  if (documents.length === 0) return;
  const rows = documents.map(({ path, kind, version, sizeBytes, o200kTokens, updateTime }) => [
    printable(path),
    kindName(kind),
    String(version),
    rounded(sizeBytes),
    rounded(o200kTokens),
    localTime(updateTime),
  ]);
  const columns = ["DOCUMENT", "KIND", "VERSION", "BYTES", "TOKENS", "UPDATED"];
  printLine(terminal, `\n${table(columns, rows, ["VERSION", "BYTES", "TOKENS"])}`);
}

interface ListFlags extends ServerFlags {
  readonly limit: number;
}

function listCommand(terminal: Terminal): Command {
  const command = new Command("list")
    .description("list workspaces, by name")
    .option("--limit <n>", "how many at most", positiveNumber, 50)
    .addHelpText("after", examples("quire workspace list", "quire workspace list --json | jq -r .name"));
  return addServerFlags(command).action((flags: ListFlags) =>
    withClient(flags, async ({ workspaces }) => {
      const list = await readPages(flags.limit, workspaces.listWorkspaces, (page) => page.workspaces);
      printList(terminal, list, look, flags);
    }),
  );
}

const look: ListLook<Workspace> = {
  toJson: workspaceJson.toJson,
  columns: ["NAME", "PATH", "CAPABILITIES", "TOOLSETS", "UPDATED"],
  numbers: ["CAPABILITIES", "TOOLSETS"],
  row: ({ name, path, capabilityCount, toolsets, updateTime }) => [
    oneLine(name, 60),
    oneLine(path, 80) || "-",
    String(capabilityCount),
    String(toolsets.length),
    localTime(updateTime),
  ],
  none: "there are no workspaces yet; quire workspace push makes one",
};
