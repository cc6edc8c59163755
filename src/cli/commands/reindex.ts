import { existsSync } from "node:fs";
import { Command } from "commander";
import { sqlitePath } from "../../storage/sqlite-path.js";
import { CliError } from "../cli-error.js";
import { counted } from "../terminal/printable.js";
import { createProgress } from "../terminal/progress.js";
import { printJson, say, type Terminal } from "../terminal/terminal.js";
import { addConfigFlags, addJsonFlag, type ConfigFlags, examples, readConfig } from "./options.js";

export function reindexCommand(terminal: Terminal): Command {
  const command = new Command("reindex")
    .description("make the index of searches anew, also while servers run")
    .addHelpText(
      "after",
      `${examples("quire reindex", "quire reindex --database postgresql://user@localhost/quire")}
It works on the database itself. Searches go on meanwhile and find what they found before. Stopped half-way it has done
no harm. Vectors are made anew afterwards, by the server whose embedder it is.
`,
    );
  return addJsonFlag(addConfigFlags(command, ["database", "databasePoolSize", "databaseTimeoutMs"])).action(
    async (flags: ConfigFlags & { readonly json?: boolean }) => {
      const { database: url, databasePoolSize: poolSize, databaseTimeoutMs: timeoutMs } = readConfig(flags);
      if (url.startsWith("file:") && !existsSync(sqlitePath(url)))
        throw new CliError(`there is no database ${sqlitePath(url)}`);
      // Loaded here, because the other commands need no database.
      const { openDatabase } = await import("../../storage/database.js");
      const { reindex } = await import("../../recall/indexing/reindex.js");
      const database = await openDatabase({ url, poolSize, timeoutMs });
      const progress = createProgress(terminal, "texts", flags.json === true);
      let shown = -1;
      try {
        const texts = await reindex(database, (done, total) => {
          if (shown < 0) {
            progress.start(total);
            shown = 0;
          }
          for (; shown < done; shown++) progress.advance();
        });
        progress.stop();
        if (flags.json) printJson(terminal, { texts });
        else say(terminal, `${counted(texts, "text")} indexed anew`);
      } finally {
        progress.stop();
        await database.close();
      }
    },
  );
}
