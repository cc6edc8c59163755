import { Command } from "commander";
import { type Session, type SessionDefaults, TaskStatus } from "../../contract/gen/quire/v1/session.js";
import type { Ledger } from "../client/ledger.js";
import { sessionJson } from "../proto-json.js";
import { localTime, oneLine } from "../terminal/printable.js";
import { table } from "../terminal/table.js";
import { printJson, printLine, say, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags, withLedger } from "./options.js";

interface SessionsFlags extends ServerFlags {
  readonly prefix?: string;
  readonly limit: number;
}

export function sessionsCommand(terminal: Terminal): Command {
  const command = new Command("sessions")
    .description("list sessions, the newest first")
    .option("--prefix <text>", "only those whose label begins so")
    .option("--limit <n>", "how many at most", positiveNumber, 50)
    .addHelpText(
      "after",
      examples("quire sessions", "quire sessions --prefix support- --json | jq -r .label"),
    );
  return addServerFlags(command).action((flags: SessionsFlags) =>
    withLedger(flags, async (ledger) => {
      const { sessions, more } = await readSessions(ledger, flags.prefix ?? "", flags.limit);
      if (flags.json) {
        for (const session of sessions) printJson(terminal, sessionJson.toJson(session));
        return;
      }
      if (sessions.length === 0) return say(terminal, "there are no sessions yet; quire import makes some");
      printLine(
        terminal,
        table(["LABEL", "TURNS", "HEAD", "UPDATED", "AGENT", "TASK"], sessions.map(row), ["TURNS"]),
      );
      if (more) say(terminal, "there are more: --limit <n>");
    }),
  );
}

async function readSessions(ledger: Ledger, labelPrefix: string, limit: number) {
  const sessions: Session[] = [];
  let pageToken = "";
  do {
    const page = await ledger.listSessions({
      pageSize: Math.min(limit - sessions.length, 1000),
      pageToken,
      labelPrefix,
      parentSession: "",
      taskStatus: TaskStatus.UNSPECIFIED,
    });
    sessions.push(...page.sessions);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && sessions.length < limit);
  return { sessions, more: pageToken !== "" };
}

function row({ label, depth, headTurnId, updateTime, subAgent, defaults }: Session): readonly string[] {
  const status = subAgent?.taskStatus.replace("TASK_STATUS_", "").toLowerCase();
  const task = subAgent ? `${status}: ${subAgent.task}` : "";
  return [
    oneLine(label, 60),
    String(depth),
    headTurnId || "-",
    localTime(updateTime),
    oneLine(agentOf(defaults), 60),
    oneLine(task, 60),
  ];
}

/** Who the session's agent is, as far as it remembers: `atlas, worker (flights, hotels)`. */
function agentOf(defaults: SessionDefaults | undefined): string {
  const role = defaults?.role?.replace("AGENT_ROLE_", "").toLowerCase();
  const scope = defaults?.scope ? `(${defaults.scope.capabilities.join(", ")})` : "";
  return [[defaults?.capsule, role].filter(Boolean).join(", "), scope].filter(Boolean).join(" ");
}
