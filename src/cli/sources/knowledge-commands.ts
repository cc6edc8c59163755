import { Command } from "commander";
import { SeriesKind, SourceItemKind } from "../../contract/gen/quire/v1/source_item.js";
import { observationJson, sourceItemJson } from "../../contract/proto-json.js";
import { CliError } from "../cli-error.js";
import { readPages } from "../client/read-pages.js";
import { withClient } from "../client/with-client.js";
import { addServerFlags, examples, type ServerFlags } from "../commands/options.js";
import { printJson, printLine, type Terminal } from "../terminal/terminal.js";
import { readKnowledge } from "./read-knowledge.js";

interface AgentFlags extends ServerFlags {
  readonly agent?: string;
}

/** As many as one call takes. */
const perCall = 500;

/** Writes what a file holds. */
export function putCommand(terminal: Terminal): Command {
  const command = new Command("put")
    .description("write what the built-in sources know")
    .argument("<file>", "JSON file with items and observations of the contract, as sources show prints them")
    .option("--agent <capsule>", "whose agent knows it (default: every agent)")
    .addHelpText(
      "after",
      `${examples("quire sources put known.json --agent helper")}
The file may hold:
  {"items": [{"rule": {"text": "Verify prices before stating them"}},
             {"fact": {"entity": "gold", "text": "a metal"}}],
   "observations": [{"kind": "SERIES_KIND_VALUE", "name": "BTC", "value": 67663, "unit": "$"}]}
or only the list of items.
`,
    );
  return addServerFlags(command).action((file: string, flags: AgentFlags) =>
    withClient(flags, async ({ sources }) => {
      const { items, observations } = await readKnowledge(file);
      const agent = flags.agent ?? "";
      const keys: string[] = [];
      for (let at = 0; at < items.length; at += perCall)
        keys.push(...(await sources.putItems({ agent, items: items.slice(at, at + perCall) })).keys);
      for (let at = 0; at < observations.length; at += perCall)
        await sources.recordObservations({ agent, observations: observations.slice(at, at + perCall) });
      if (flags.json) return printJson(terminal, { keys, observations: observations.length });
      const values = observations.length > 0 ? `, ${observations.length} observations recorded` : "";
      printLine(terminal, `${keys.length} items written${values}`);
    }),
  );
}

export function showCommand(terminal: Terminal): Command {
  const command = new Command("show")
    .description("show what the built-in sources know, with the history of values, as sources put takes it")
    .option("--agent <capsule>", "whose agent knows it (default: what every agent knows)")
    .addHelpText("after", examples("quire sources show --agent helper > known.json"));
  return addServerFlags(command).action((flags: AgentFlags) =>
    withClient(flags, async ({ sources }) => {
      const agent = flags.agent ?? "";
      const { found: items } = await readPages(
        Number.POSITIVE_INFINITY,
        (page) => sources.listItems({ agent, ...page }),
        (page) => page.items,
      );
      const { found: observations } = await readPages(
        Number.POSITIVE_INFINITY,
        (page) => sources.listObservations({ agent, ...page }),
        (page) => page.observations,
      );
      const known = {
        items: items.map((item) => sourceItemJson.toJson({ ...item, updateTime: undefined })),
        observations: observations.map((observation) => observationJson.toJson(observation)),
      };
      printJson(terminal, known, 2);
    }),
  );
}

const itemPrefix = "SOURCE_ITEM_KIND_";
const seriesKinds: Readonly<Record<string, SeriesKind>> = {
  value: SeriesKind.VALUE,
  domain: SeriesKind.DOMAIN,
  skill_outcome: SeriesKind.SKILL,
};
const itemKinds: Readonly<Record<string, SourceItemKind>> = Object.fromEntries(
  Object.values(SourceItemKind)
    .filter((kind) => kind.startsWith(itemPrefix) && kind !== SourceItemKind.UNSPECIFIED)
    .map((kind) => [kind.slice(itemPrefix.length).toLowerCase(), kind]),
);

export function deleteCommand(terminal: Terminal): Command {
  const kinds = [...Object.keys(itemKinds), ...Object.keys(seriesKinds)].join(", ");
  const command = new Command("delete")
    .description("delete what the built-in sources know")
    .argument("<kind>", kinds)
    .argument("[keys...]", "keys of items, or names of series (default: all of the kind)")
    .option("--agent <capsule>", "whose agent knows it (default: what every agent knows)")
    .addHelpText(
      "after",
      examples('quire sources delete fact "gold: a metal" --agent helper', "quire sources delete value BTC"),
    );
  return addServerFlags(command).action((kind: string, keys: string[], flags: AgentFlags) =>
    withClient(flags, async ({ sources }) => {
      const agent = flags.agent ?? "";
      const [item, series] = [itemKinds[kind], seriesKinds[kind]];
      if (!item && !series)
        throw new CliError(`there is no kind ${JSON.stringify(kind)}; there are ${kinds}`);
      const { deleted } = item
        ? await sources.deleteItems({ agent, kind: item, keys })
        : await sources.deleteObservations({ agent, kind: series!, names: keys });
      if (flags.json) return printJson(terminal, { deleted });
      printLine(terminal, `${deleted} ${item ? "items" : "observations"} deleted`);
    }),
  );
}
