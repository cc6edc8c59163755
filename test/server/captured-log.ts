import { EventEmitter, once } from "node:events";
import { createLogger, type Logger } from "../../src/telemetry/logger.js";

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly method?: string;
  readonly reason?: string;
  readonly incident?: string;
  readonly cause?: { readonly name?: string; readonly message?: string; readonly stack?: string };
}

/** The real logger, whose lines are kept. */
export class CapturedLog {
  readonly text: string[] = [];
  readonly logger: Logger = createLogger("debug", {
    write: (line: string) => {
      this.text.push(line);
      this.written.emit("line");
    },
  });
  private readonly written = new EventEmitter();

  get lines(): readonly LogLine[] {
    return this.text.map((line) => JSON.parse(line) as LogLine);
  }

  /** The first line from an index on that matches, once it is there. */
  async find(matches: (line: LogLine) => boolean, from = 0): Promise<LogLine> {
    for (;;) {
      const found = this.lines.slice(from).find(matches);
      if (found) return found;
      await once(this.written, "line");
    }
  }
}
