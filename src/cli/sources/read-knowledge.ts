import { readFile } from "node:fs/promises";
import type { Observation, SourceItem } from "../../contract/gen/quire/v1/source_item.js";
import { observationJson, sourceItemJson } from "../../contract/proto-json.js";
import { CliError } from "../cli-error.js";

export interface Knowledge {
  readonly items: readonly SourceItem[];
  readonly observations: readonly Observation[];
}

/** What a file says that sources know. An error names the entry. */
export async function readKnowledge(file: string): Promise<Knowledge> {
  let json: unknown;
  try {
    json = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new CliError(`${file} cannot be read as JSON: ${(error as Error).message}`);
  }
  const given = Array.isArray(json) ? { items: json } : json;
  if (typeof given !== "object" || given === null)
    throw new CliError(`${file} must hold a list of items, or an object with items and observations`);
  const unknown = Object.keys(given).find((name) => name !== "items" && name !== "observations");
  if (unknown !== undefined)
    throw new CliError(`${file} has ${JSON.stringify(unknown)}, where only items and observations are known`);
  const { items = [], observations = [] } = given as Readonly<Record<string, unknown>>;
  return {
    items: readAll(file, "items", items, sourceItemJson.fromJson),
    observations: readAll(file, "observations", observations, observationJson.fromJson),
  };
}

function readAll<T>(file: string, name: string, list: unknown, read: (json: unknown) => T): readonly T[] {
  if (!Array.isArray(list)) throw new CliError(`${file}: ${name} must be a list`);
  return list.map((entry, index) => {
    try {
      return read(entry);
    } catch (error) {
      throw new CliError(`${file}: ${name}[${index}]: ${(error as Error).message}`);
    }
  });
}
