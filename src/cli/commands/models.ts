import { Command } from "commander";
import type { ModelInfo } from "../../contract/gen/quire/v1/assembly_service.js";
import { ModelFact } from "../../contract/gen/quire/v1/model.js";
import { CacheKind } from "../../contract/gen/quire/v1/prompt_cache.js";
import { modelJson } from "../../contract/proto-json.js";
import { word } from "../assemble/lines.js";
import { readPages } from "../client/read-pages.js";
import { withClient } from "../client/with-client.js";
import { type ListLook, printList } from "../terminal/list.js";
import { oneLine } from "../terminal/printable.js";
import type { Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, type ServerFlags } from "./options.js";

interface ModelFlags extends ServerFlags {
  readonly assumed?: boolean;
}

/** All that can be assumed of a model; the two others are no facts. */
const everyFact = Object.keys(ModelFact).length - 2;

export function modelsCommand(terminal: Terminal): Command {
  const command = new Command("models")
    .description("list models: limits, how their tokens are counted, and how their prompt cache works")
    .argument("[prefix]", "only those whose name begins so")
    .option("--assumed", "only what is assumed and not verified, families of models included")
    .addHelpText(
      "after",
      `
A context is o200k tokens times RATIO, or up to MARGIN more. EVIDENCE is how many reported usages these come
from; where it is 0 they are the catalogue's. INPUT and OUT are US dollars for a million tokens. A model that is
not listed has what is said of its family (--assumed lists these).
${examples("quire models", "quire models claude-", "quire models --assumed", "quire models --json | jq -r .name")}`,
    );
  return addServerFlags(command).action((prefix: string | undefined, flags: ModelFlags) =>
    withClient(flags, async ({ assembly }) => {
      const namePrefix = prefix ?? "";
      const withFamilies = flags.assumed === true;
      const list = await readPages(
        Number.POSITIVE_INFINITY,
        (page) => assembly.listModels({ namePrefix, withFamilies, ...page }),
        (page) => page.models.filter(({ assumed }) => !withFamilies || assumed.length > 0),
      );
      printList(terminal, list, look, flags);
    }),
  );
}

const look: ListLook<ModelInfo> = {
  toJson: modelJson.toJson,
  columns: [
    ...["MODEL", "PROVIDER", "WINDOW", "OUTPUT", "TOKENS", "RATIO", "MARGIN", "EVIDENCE"],
    ...["CACHE", "MINIMUM", "TTL", "INPUT", "OUT", "ASSUMED"],
  ],
  numbers: ["WINDOW", "OUTPUT", "RATIO", "MARGIN", "EVIDENCE", "MINIMUM", "TTL", "INPUT", "OUT"],
  row,
  none: "no model's name begins so",
};

function row(model: ModelInfo): readonly string[] {
  const isCached = model.cacheKind !== CacheKind.NONE;
  return [
    oneLine(model.name, 40),
    oneLine(model.provider, 20) || "-",
    whole(model.contextTokens),
    whole(model.outputTokens),
    model.exact ? "exact" : "estimated",
    model.exact ? "-" : model.ratio.toFixed(3),
    model.exact ? "-" : `${(model.margin * 100).toFixed(1)} %`,
    model.exact ? "-" : whole(model.evidence),
    word(model.cacheKind, "CACHE_KIND_"),
    isCached ? whole(model.cacheMinTokens) : "-",
    isCached ? duration(model.cacheTtlSeconds) : "-",
    dollars(model.inputPrice),
    dollars(model.outputPrice),
    assumedText(model.assumed),
  ];
}

function dollars(price: number | undefined): string {
  return price === undefined ? "-" : String(price);
}

function assumedText(assumed: ModelInfo["assumed"]): string {
  if (assumed.length >= everyFact) return "everything";
  return assumed.map((fact) => word(fact, "MODEL_FACT_")).join(", ") || "-";
}

function whole(number: number): string {
  return number.toLocaleString("en-US");
}

function duration(seconds: number): string {
  if (seconds >= 3_600 && seconds % 3_600 === 0) return `${seconds / 3_600} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}
