import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import { decodeRanks, type Ranks, RankTable } from "./rank-table.js";

/** What texts are counted with. */
export type TextVocabulary = "o200k_base" | "cl100k_base";

/** What messages are counted with; `o200k_pictures`: o200k for their texts, and far more for a picture than other models take. */
export type Vocabulary = TextVocabulary | "o200k_pictures";

export function textVocabulary(vocabulary: Vocabulary): TextVocabulary {
  return vocabulary === "o200k_pictures" ? "o200k_base" : vocabulary;
}

/** The one that a budget names. */
export function vocabularyNamed(name: string | undefined): Vocabulary {
  return name === "cl100k_base" || name === "o200k_pictures" ? name : "o200k_base";
}

const RANKS_FIELD = '"bpe_ranks":"! 0 ';

const loaded = new Map<TextVocabulary, RankTable>();

/**
 * The ranks of a vocabulary, read when it is first asked for and kept, for threads that start later, too. The first call reads some
 * megabytes and blocks for tens of milliseconds: a server does well to make it before it listens.
 */
export function loadVocabulary(vocabulary: TextVocabulary): RankTable {
  let table = loaded.get(vocabulary);
  if (table === undefined) {
    const key = `quire: ranks of ${vocabulary}`;
    let ranks = getEnvironmentData(key) as unknown as Ranks | undefined;
    if (ranks === undefined) {
      ranks = readRanks(vocabulary);
      setEnvironmentData(key, ranks as never);
    }
    table = new RankTable(ranks);
    loaded.set(vocabulary, table);
  }
  return table;
}

/** Reads the package's file as bytes: evaluating it as a module would take as long again as all the rest. */
function readRanks(vocabulary: TextVocabulary): Ranks {
  const file = readFileSync(createRequire(import.meta.url).resolve(`js-tiktoken/ranks/${vocabulary}`));
  const field = file.indexOf(RANKS_FIELD);
  const start = field + RANKS_FIELD.length;
  const end = file.indexOf('"', start);
  if (field < 0 || end < 0)
    throw new Error(`the ranks of ${vocabulary} are not in the form of js-tiktoken 1.0`);
  return decodeRanks(new Uint8Array(file.buffer, file.byteOffset + start, end - start));
}
