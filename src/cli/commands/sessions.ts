import { Command, InvalidArgumentError } from "commander";
import type { MetadataFilter } from "../../contract/gen/quire/v1/ledger_service.js";
import type { Session, SessionDefaults } from "../../contract/gen/quire/v1/session.js";
import { sessionJson } from "../../contract/proto-json.js";
import { readPages } from "../client/read-pages.js";
import { withClient } from "../client/with-client.js";
import { type ListLook, printList } from "../terminal/list.js";
import { localTime, oneLine, rounded } from "../terminal/printable.js";
import type { Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags } from "./options.js";

interface SessionsFlags extends ServerFlags {
  readonly prefix?: string;
  readonly metadata: readonly MetadataFilter[];
  readonly limit: number;
}

export function sessionsCommand(terminal: Terminal): Command {
  const command = new Command("sessions")
    .description("list sessions, the newest first")
    .option("--prefix <text>", "only those whose label begins so")
    .option(
      "--metadata <key=value>",
      "only those with this in their metadata; key=start* for a beginning, key for any value; may be repeated",
      (text: string, before: readonly MetadataFilter[]) => [...before, metadataFilter(text)],
      [],
    )
    .option("--limit <n>", "how many at most", positiveNumber, 50)
    .addHelpText(
      "after",
      examples(
        "quire sessions",
        "quire sessions --prefix support- --json | jq -r .label",
        "quire sessions --metadata team=search --metadata env=prod*",
      ),
    );
  return addServerFlags(command).action((flags: SessionsFlags) =>
    withClient(flags, async ({ ledger }) => {
      const { prefix: labelPrefix = "", metadata } = flags;
      const list = await readPages(
        flags.limit,
        (page) => ledger.listSessions({ labelPrefix, metadata, ...page }),
        (page) => page.sessions,
      );
      printList(terminal, list, look, flags);
    }),
  );
}

function metadataFilter(text: string): MetadataFilter {
  const [key, value] = text.split(/=(.*)/s);
  if (!key) throw new InvalidArgumentError("A key comes first, as in team=search.");
  if (value === undefined) return { key, value };
  if (value.endsWith("*")) return { key, value: { $case: "prefix", value: value.slice(0, -1) } };
  return { key, value: { $case: "equals", value } };
}

const look: ListLook<Session> = {
  toJson: sessionJson.toJson,
  columns: ["LABEL", "TURNS", "HEAD", "UPDATED", "AGENT", "TASK"],
  numbers: ["TURNS"],
  row,
  none: "there are no sessions yet; quire import makes some",
};

function row({ label, depth, headTurnId, updateTime, subAgent, defaults }: Session): readonly string[] {
  const status = subAgent?.taskStatus.replace("TASK_STATUS_", "").toLowerCase();
  const task = subAgent ? `${status}: ${subAgent.task}` : "";
  return [
    oneLine(label, 60),
    rounded(depth),
    headTurnId || "-",
    localTime(updateTime),
    oneLine(agentOf(defaults), 60),
    oneLine(task, 60),
  ];
}

/** Who the session's agent is, as far as it remembers: `atlas, worker (flights, hotels)`. */
function agentOf(defaults: SessionDefaults | undefined): string {
  const role = defaults?.role?.replace("AGENT_ROLE_", "").toLowerCase();
  const scope = defaults?.scope ? `(${defaults.scope.capabilities.join(", ") || "no capability"})` : "";
  return [[defaults?.capsule, role].filter(Boolean).join(", "), scope].filter(Boolean).join(" ");
}
