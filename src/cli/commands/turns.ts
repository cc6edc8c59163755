import { Command } from "commander";
import { TurnScope } from "../../contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../contract/gen/quire/v1/message.js";
import type { Turn } from "../../contract/gen/quire/v1/turn.js";
import type { Ledger } from "../client/ledger.js";
import { messageJson, turnJson } from "../proto-json.js";
import { messageText } from "../terminal/message-text.js";
import { counted, localTime, oneLine } from "../terminal/printable.js";
import { table } from "../terminal/table.js";
import { printJson, printLine, say, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags, withLedger } from "./options.js";

interface TurnsFlags extends ServerFlags {
  readonly all?: boolean;
  readonly messages?: boolean;
  readonly limit: number;
}

export function turnsCommand(terminal: Terminal): Command {
  const command = new Command("turns")
    .description("list the turns of a session's thread, the newest first")
    .argument("<session>", "its label, id or alias")
    .option("--all", "every turn written through the session: open and failed ones and branches, too")
    .option("--messages", "with what was said")
    .option("--limit <n>", "how many at most", positiveNumber, 50)
    .addHelpText("after", examples("quire turns support-42", "quire turns support-42 --messages --limit 1"));
  return addServerFlags(command).action((session: string, flags: TurnsFlags) =>
    withLedger(flags, async (ledger) => {
      const { turns, more } = await readTurns(ledger, session, flags);
      if (flags.messages) await printMessages(terminal, ledger, turns, flags.json === true);
      else if (flags.json) for (const turn of turns) printJson(terminal, turnJson.toJson(turn));
      else if (turns.length > 0)
        printLine(terminal, table(columns, turns.map(row), ["DEPTH", "MESSAGES", "TOKENS"]));
      if (flags.json) return;
      if (turns.length === 0) say(terminal, "the session has no turns");
      if (more) say(terminal, "there are more: --limit <n>");
    }),
  );
}

async function readTurns(ledger: Ledger, session: string, flags: TurnsFlags) {
  const turns: Turn[] = [];
  let pageToken = "";
  do {
    const page = await ledger.listTurns({
      session,
      scope: flags.all ? TurnScope.WRITTEN : TurnScope.THREAD,
      statuses: [],
      pageSize: Math.min(flags.limit - turns.length, 1000),
      pageToken,
    });
    turns.push(...page.turns);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && turns.length < flags.limit);
  return { turns, more: pageToken !== "" };
}

const columns = ["ID", "STATUS", "DEPTH", "MESSAGES", "TOKENS", "MODEL", "TIME"];

function row(turn: Turn): readonly string[] {
  return [
    turn.id,
    statusOf(turn),
    String(turn.depth),
    String(turn.messageCount),
    String(turn.o200kTokens + turn.contextO200kTokens),
    oneLine(turn.details?.model ?? "", 40) || "-",
    localTime(turn.completeTime ?? turn.createTime),
  ];
}

function statusOf({ status }: Turn): string {
  return status.replace("TURN_STATUS_", "").toLowerCase();
}

async function printMessages(
  terminal: Terminal,
  ledger: Ledger,
  turns: readonly Turn[],
  json: boolean,
): Promise<void> {
  for (const turn of turns) {
    const messages: readonly Message[] = (await ledger.getTurn({ turnId: turn.id })).result?.messages ?? [];
    if (json) {
      printJson(terminal, { turn: turnJson.toJson(turn), messages: messages.map(messageJson.toJson) });
      continue;
    }
    const facts = [
      statusOf(turn),
      `depth ${turn.depth}`,
      counted(messages.length, "message"),
      turn.details?.model,
    ];
    printLine(terminal, `${turn.id}  ${facts.filter(Boolean).join(", ")}`);
    printLine(terminal, `${messages.map(messageText).join("\n")}\n`);
  }
}
