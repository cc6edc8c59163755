import type { Message } from "../src/contract/gen/quire/v1/message.js";
import { openDatabase, type Statement } from "../src/storage/driver/database-sync.js";
import { messageOverheadTokens } from "../src/thread/message-overhead.js";
import { countMessages } from "../src/thread/message-text.js";
import type { TokenCounter } from "../src/tokens/token-counter.js";

interface Row {
  readonly position: number;
  readonly tokens: number;
  readonly content: string;
}

const rowsPerRead = 64;

/**
 * The floor of assembling: the driver's rows, one a message with its JSON and its count, read from the newest back until the
 * budget is full, and parsed. No system prompt, no tools, no event, no receipt, and no care for where a turn begins.
 */
export class AssemblyFloor {
  private readonly database;
  private readonly insert: Statement;
  private readonly select: Statement;
  private position = 0;

  constructor(path: string) {
    this.database = openDatabase(path);
    this.database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
      CREATE TABLE messages (thread TEXT, position INTEGER, tokens INTEGER, content TEXT, PRIMARY KEY (thread, position)) WITHOUT ROWID;`);
    this.insert = this.database.prepare("INSERT INTO messages VALUES ('t', ?, ?, ?)");
    this.select = this.database.prepare(
      `SELECT position, tokens, content FROM messages WHERE thread = ? AND position <= ? ORDER BY position DESC LIMIT ${rowsPerRead}`,
    );
  }

  async append(counter: TokenCounter, messages: readonly Message[]): Promise<void> {
    const counts = await countMessages(counter, messages);
    messages.forEach(({ role, parts }, index) => {
      this.insert.run(
        ++this.position,
        counts[index]!.parts + messageOverheadTokens,
        JSON.stringify({ role, parts }),
      );
    });
  }

  /** What fits of the messages up to a position, the oldest first. */
  read(upTo: number, budget: number): { readonly messages: readonly unknown[]; readonly tokens: number } {
    const messages: unknown[] = [];
    let tokens = 0;
    for (let position = upTo; position > 0; ) {
      const rows = this.select.all("t", position) as Row[];
      for (const row of rows) {
        if (tokens + row.tokens > budget) return { messages: messages.reverse(), tokens };
        tokens += row.tokens;
        messages.push(JSON.parse(row.content));
      }
      position = rows.at(-1)!.position - 1;
    }
    return { messages: messages.reverse(), tokens };
  }

  close(): void {
    this.database.close();
  }
}
