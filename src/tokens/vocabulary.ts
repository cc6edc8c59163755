import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { RankTable } from "./rank-table.js";

export type Vocabulary = "o200k_base" | "cl100k_base";

const RANKS_FIELD = '"bpe_ranks":"! 0 ';

const loaded = new Map<Vocabulary, RankTable>();

/**
 * The ranks of a vocabulary, read when it is first asked for and kept. The first call reads some megabytes and
 * blocks for tens of milliseconds: a server does well to make it before it listens.
 */
export function loadVocabulary(vocabulary: Vocabulary): RankTable {
  let table = loaded.get(vocabulary);
  if (table === undefined) {
    table = readRanks(vocabulary);
    loaded.set(vocabulary, table);
  }
  return table;
}

/** Reads the package's file as bytes: evaluating it as a module would take as long again as all the rest. */
function readRanks(vocabulary: Vocabulary): RankTable {
  const file = readFileSync(createRequire(import.meta.url).resolve(`js-tiktoken/ranks/${vocabulary}`));
  const field = file.indexOf(RANKS_FIELD);
  const start = field + RANKS_FIELD.length;
  const end = file.indexOf('"', start);
  if (field < 0 || end < 0)
    throw new Error(`the ranks of ${vocabulary} are not in the form of js-tiktoken 1.0`);
  return new RankTable(new Uint8Array(file.buffer, file.byteOffset + start, end - start));
}
