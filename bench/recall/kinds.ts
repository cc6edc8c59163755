import type { Figure } from "../figure.js";
import type { Collection } from "./collection.js";
import { openHome } from "./home.js";
import { cjkCollections } from "./kinds/cjk.js";
import { codeCollections } from "./kinds/code.js";
import { ticketCollections } from "./kinds/tickets.js";
import { plainFts5 } from "./plain-fts5.js";
import { Recall, shares } from "./score.js";

/** Texts that are no dialogue of two people: code sessions, Chinese and Japanese, tickets. Each beside plain FTS5, which it is not to be worse than. */
export async function kinds(): Promise<Figure[]> {
  const all = [...codeCollections(), ...cjkCollections(), ...ticketCollections()];
  const collections = all.filter(({ wanted }) => wanted.length > 0);
  const opened = await openHome("sqlite", collections);
  if (!opened) return [];
  const figures: Figure[] = [];
  try {
    for (const collection of collections) {
      const plain = plainFts5([collection]).shares;
      const recall = new Recall();
      for (const wanted of collection.wanted) recall.add(wanted, await opened.search(collection, wanted));
      const name = `${collection.agent} (${sizeOf(collection)})`;
      figures.push(...shares(`${name}, FTS5 porter`, plain), ...shares(name, recall.shares, plain));
    }
  } finally {
    await opened.close();
  }
  return figures;
}

function sizeOf({ sessions, wanted }: Collection): string {
  return `${wanted.length} questions of ${sessions.flat().length} texts`;
}
