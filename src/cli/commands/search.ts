import { Command, Option } from "commander";
import { ActorKind } from "../../contract/gen/quire/v1/memory.js";
import { SearchMode, type SearchResponse, type SearchResult } from "../../contract/gen/quire/v1/search.js";
import { searchResponseJson } from "../../contract/proto-json.js";
import { createLines, type Lines, labelWidth, word, wrap } from "../assemble/lines.js";
import type { Ledger } from "../client/quire-client.js";
import { unlessRefused } from "../client/unless-refused.js";
import { withClient } from "../client/with-client.js";
import { shortName } from "../memory/names.js";
import { counted, localTime, oneLine, printable } from "../terminal/printable.js";
import { printJson, say, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags } from "./options.js";

const modes = {
  auto: SearchMode.AUTO,
  keyword: SearchMode.KEYWORD,
  vector: SearchMode.VECTOR,
  hybrid: SearchMode.HYBRID,
};

interface SearchFlags extends ServerFlags {
  readonly agent?: string;
  readonly session?: string;
  readonly mode: keyof typeof modes;
  readonly limit: number;
}

export function searchCommand(terminal: Terminal): Command {
  const command = new Command("search")
    .description("find blocks, archival entries and messages, the best first")
    .argument("<query...>", "a question, some words, a path, an identifier; nothing in it is an operator")
    .option("--agent <capsule>", "only what this agent may read (default: everything)")
    .option("--session <session>", "only messages of this session's thread: its label, id or alias")
    .addOption(
      new Option("--mode <name>", "by words, by meaning, or by both")
        .choices(Object.keys(modes))
        .default("auto"),
    )
    .option("--limit <n>", "how many at most, up to 200", positiveNumber, 10)
    .addHelpText(
      "after",
      `${examples('quire search "which flowers does Ann like?" --agent atlas', "quire search src/recall/rank.ts --session support-42", "quire search refund --json | jq '.results[].id'")}
Scores order the results of one search; those of two searches cannot be compared. docs/recall.md explains them.
`,
    );
  return addServerFlags(command).action((words: readonly string[], flags: SearchFlags) =>
    withClient(flags, async ({ memory, ledger }) => {
      const answer = await memory.search({
        query: words.join(" "),
        session: flags.session ?? "",
        mode: modes[flags.mode],
        limit: flags.limit,
        ...(flags.agent === undefined ? {} : { actor: { kind: ActorKind.AGENT, name: flags.agent } }),
      });
      if (flags.json) return printJson(terminal, searchResponseJson.toJson(answer));
      const lines = createLines(terminal);
      const labels = await sessionLabels(ledger, answer.results);
      for (const [at, result] of answer.results.entries()) {
        const { sessionId } = result;
        printResult(lines, { ...result, sessionId: labels.get(sessionId) ?? sessionId }, at);
      }
      for (const note of notesOf(answer)) say(terminal, note);
    }),
  );
}

/** What people call the sessions of messages; without those that are gone since. */
async function sessionLabels(
  ledger: Ledger,
  results: readonly SearchResult[],
): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(results.map(({ sessionId }) => sessionId).filter((id) => id !== ""));
  const found = await Promise.all(
    [...ids].map((session) => unlessRefused("SESSION_NOT_FOUND", ledger.getSession({ session }))),
  );
  return new Map(
    found.flatMap((answer) => (answer?.session ? [[answer.session.id, answer.session.label]] : [])),
  );
}

function printResult(lines: Lines, result: SearchResult, at: number): void {
  if (at > 0) lines.blank();
  lines.entry(result.score.toFixed(2), oneLine(originOf(result), lines.width - labelWidth), "green");
  lines.below(...snippetLines(lines, result));
  lines.below(...wrap(printable(reasonsOf(result).join("; ")), lines.width - labelWidth).map(dim(lines)));
}

const dim = (lines: Lines) => (line: string) => lines.paint("dim", line);

function originOf({ content, label, owner, role, speaker, sessionId, time }: SearchResult): string {
  const kind = shortName(content, "SEARCH_CONTENT_");
  const what = kind === "message" ? `${word(role, "MESSAGE_ROLE_")} message` : `${kind} ${label}`.trim();
  const whose = owner?.name ? `of ${owner.name}` : "";
  const said = speaker === "" ? "" : `by ${speaker}`;
  const where = sessionId === "" ? "" : `in ${sessionId}`;
  return [what, whose, said, where, localTime(time)].filter((part) => part !== "").join(" ");
}

/** The snippet within the terminal's width. Breaks take the place of spaces, so that highlights stay where they are. */
function snippetLines({ width, paint }: Lines, { snippet, highlights }: SearchResult): string[] {
  let start = 0;
  return wrap(printable(snippet).replace(/\s/g, " "), width - labelWidth).map((line) => {
    let shown = "";
    let at = 0;
    for (const highlight of highlights) {
      const from = highlight.start - start;
      if (from < at || from >= line.length) continue;
      shown += line.slice(at, from) + paint("bold", line.slice(from, from + highlight.length));
      at = from + highlight.length;
    }
    start += line.length + 1;
    return shown + line.slice(at);
  });
}

/** Why it was found. */
function reasonsOf({ match }: SearchResult): string[] {
  const { terms, coverage, byNeighbours, date, speaker, answersQuestion, cosine } = match!;
  return [
    terms.length > 0 ? `has ${terms.join(", ")}` : "",
    byNeighbours ? "messages around it have the words" : "",
    coverage > 0 ? `coverage ${coverage.toFixed(2)}` : "",
    date > 0 ? `near the time that is named (${date.toFixed(2)})` : "",
    speaker > 0 ? "said by whom the query names" : "",
    answersQuestion ? "after a question" : "",
    cosine === undefined ? "" : `cosine ${cosine.toFixed(2)}`,
  ].filter((reason) => reason !== "");
}

function notesOf({ results, note, pending, withoutVector }: SearchResponse): string[] {
  return [
    results.length === 0 ? "nothing was found" : "",
    note,
    pending > 0 ? `${counted(pending, "text")} still wait to be indexed, and were not searched` : "",
    withoutVector > 0 ? `${counted(withoutVector, "text")} have no vector yet: compared by words alone` : "",
  ].filter((line) => line !== "");
}
