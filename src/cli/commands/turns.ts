import { Command } from "commander";
import type { CompactionTurn } from "../../contract/gen/quire/v1/compaction.js";
import { TurnScope } from "../../contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../contract/gen/quire/v1/message.js";
import type { Turn } from "../../contract/gen/quire/v1/turn.js";
import { compactionJson, messageJson, turnJson } from "../../contract/proto-json.js";
import { makerText, tokensText, turnsText } from "../assemble/compaction-text.js";
import type { Ledger } from "../client/quire-client.js";
import { readPages } from "../client/read-pages.js";
import { withClient } from "../client/with-client.js";
import { messageText } from "../terminal/message-text.js";
import { counted, localTime, oneLine, printable, rounded } from "../terminal/printable.js";
import { table } from "../terminal/table.js";
import { printJson, printLine, say, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags } from "./options.js";

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
    .option("--messages", "what was said, in the order in which it was said")
    .option("--limit <n>", "how many at most", positiveNumber, 50)
    .addHelpText("after", examples("quire turns support-42", "quire turns support-42 --messages --limit 1"));
  return addServerFlags(command).action((session: string, flags: TurnsFlags) =>
    withClient(flags, async ({ ledger }) => {
      const { entries, more } = await readTurns(ledger, session, flags);
      // A transcript is read from its beginning, a list from its newest entry.
      if (flags.messages) await printMessages(terminal, ledger, entries.toReversed(), flags.json === true);
      else if (flags.json) for (const entry of entries) printJson(terminal, entryJson(entry));
      else if (entries.length > 0)
        printLine(terminal, table(columns, entries.map(row), ["DEPTH", "MESSAGES", "TOKENS"]));
      if (flags.json) return;
      if (entries.length === 0) say(terminal, "the session has no turns");
      if (more) say(terminal, `there are ${flags.messages ? "earlier ones" : "more"}: --limit <n>`);
    }),
  );
}

/** A turn, or a compaction that hangs off the turn after it in the list. */
type Entry = { readonly turn: Turn } | { readonly compaction: CompactionTurn };

async function readTurns(ledger: Ledger, session: string, flags: TurnsFlags) {
  const scope = flags.all ? TurnScope.WRITTEN : TurnScope.THREAD;
  const { found, more } = await readPages(
    flags.limit,
    (page) => ledger.listTurns({ session, scope, ...page }),
    ({ turns, compactions }) =>
      turns.map((turn): readonly Entry[] => {
        const own = compactions.filter(({ anchorTurnId }) => anchorTurnId === turn.id);
        return [...own.map((compaction) => ({ compaction })), { turn }];
      }),
  );
  return { entries: found.flat(), more };
}

function entryJson(entry: Entry): unknown {
  return "turn" in entry
    ? turnJson.toJson(entry.turn)
    : { compaction: compactionJson.toJson(entry.compaction) };
}

const columns = ["ID", "STATUS", "DEPTH", "MESSAGES", "TOKENS", "MODEL", "TIME"];

function row(entry: Entry): readonly string[] {
  if ("compaction" in entry) {
    const { id, depth, summaryTokens, model, summarizer, applyTime } = entry.compaction;
    const maker = oneLine(model || summarizer, 40) || "-";
    return [id, "compaction", rounded(depth), "-", rounded(summaryTokens), maker, localTime(applyTime)];
  }
  const { turn } = entry;
  return [
    turn.id,
    statusOf(turn),
    rounded(turn.depth),
    rounded(turn.messageCount),
    rounded(turn.o200kTokens + turn.contextO200kTokens),
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
  entries: readonly Entry[],
  json: boolean,
): Promise<void> {
  for (const entry of entries) {
    if ("compaction" in entry) {
      if (json) printJson(terminal, entryJson(entry));
      else printSummary(terminal, entry.compaction);
      continue;
    }
    const { turn } = entry;
    const { found } = await ledger.getTurn({ turnId: turn.id });
    const messages: readonly Message[] =
      found?.$case === "recorded" ? (found.value.result?.messages ?? []) : [];
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
    printLine(terminal, printable(`${turn.id}  ${facts.filter(Boolean).join(", ")}`));
    printLine(terminal, `${messages.map(messageText).join("\n")}\n`);
  }
}

function printSummary(terminal: Terminal, compaction: CompactionTurn): void {
  const facts = ["compaction", turnsText(compaction), tokensText(compaction), makerText(compaction)];
  printLine(terminal, printable(`${compaction.id}  ${facts.join(", ")}`));
  const lines = printable(compaction.summary).split("\n");
  printLine(terminal, `summary\n${lines.map((line) => (line === "" ? "" : `  ${line}`)).join("\n")}\n`);
}
