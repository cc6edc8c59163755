import type { Attack } from "./attack.js";
import { hardToCount } from "./kinds/hard-to-count.js";
import { damagedBlockUpdates, hostileBlockUpdates, hugeBlockTexts } from "./kinds/hostile-blocks.js";
import { hostileSummarizer } from "./kinds/hostile-summarizer.js";
import { hugeTurn, oneWordLines } from "./kinds/hostile-text.js";
import { idleWatchers } from "./kinds/idle-watchers.js";
import { gzipBombs, largeRequests } from "./kinds/large-requests.js";
import { largestPages } from "./kinds/largest-pages.js";
import { manyAliases, manyForks } from "./kinds/many-names.js";
import { deepNesting, manyBrackets } from "./kinds/nesting.js";
import { newTools } from "./kinds/new-tools.js";
import { resetCalls } from "./kinds/reset-calls.js";
import { rewrittenDocument } from "./kinds/rewritten-document.js";
import { slowReaders } from "./kinds/slow-readers.js";

/** Every attack, by the name that its figures have. */
export const attacks: Readonly<Record<string, Attack>> = {
  "16,000 changed lines": rewrittenDocument,
  "largest pages": largestPages,
  "1,024 new tools each time": newTools,
  "40,000 reset calls": resetCalls,
  "10,000 watchers": idleWatchers,
  "5,000 levels": deepNesting,
  "10 MB of brackets": manyBrackets,
  "40 requests of 28 MB": largeRequests,
  "gzip bombs": gzipBombs,
  "slow readers": slowReaders,
  "100,000 one-word lines": oneWordLines,
  "a turn of 20 MB": hugeTurn,
  "1,350 aliases": manyAliases,
  "3,000 forks": manyForks,
  "a hostile summarizer": hostileSummarizer,
  "texts hard to count": hardToCount,
  "hostile memory updates": hostileBlockUpdates,
  "10,000 damaged memory updates": damagedBlockUpdates,
  "10 MB for a memory block": hugeBlockTexts,
};
