import { stopWords } from "../../src/recall/terms/stop-words.js";
import { openDatabase } from "../../src/storage/driver/database-sync.js";
import type { Collection } from "./collection.js";
import { Recall } from "./score.js";

/** A query as FTS5 takes it: every word quoted, without those that are everywhere. */
export function matchOf(query: string): string {
  const words = [...query.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)].map(([word]) => word);
  const said = words.filter((word) => !stopWords.has(word));
  return (said.length > 0 ? said : words).map((word) => `"${word}"`).join(" OR ");
}

/** What FTS5 finds by itself: `porter unicode61`, bm25. */
export function plainFts5(collections: readonly Collection[]): Recall {
  const recall = new Recall();
  for (const { sessions, wanted } of collections) {
    const database = openDatabase(":memory:");
    database.exec("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61')");
    const insert = database.prepare("INSERT INTO texts (rowid, text) VALUES (?, ?)");
    const sayings = sessions.flat();
    for (const [at, { text }] of sayings.entries()) insert.run(at + 1, text);
    const find = database.prepare(
      "SELECT rowid AS id FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 25",
    );
    for (const one of wanted) {
      const match = matchOf(one.query);
      const rows = match === "" ? [] : (find.all(match) as { readonly id: number }[]);
      recall.add(
        one,
        rows.map(({ id }) => sayings[id - 1]!.id),
      );
    }
    database.close();
  }
  return recall;
}
