import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { Command } from "commander";
import { sqlitePath } from "../../storage/sqlite-path.js";
import { CliError } from "../cli-error.js";
import { printable } from "../terminal/printable.js";
import { printJson, say, type Terminal } from "../terminal/terminal.js";
import { addConfigFlags, addJsonFlag, type ConfigFlags, examples, readConfig } from "./options.js";

export function backupCommand(terminal: Terminal): Command {
  const command = new Command("backup")
    .description("copy the embedded database while the server runs")
    .argument("<file>", "where the copy goes; replaced if it is there")
    .addHelpText(
      "after",
      `${examples("quire backup /backups/quire.db", "quire backup copy.db --database file:/var/lib/quire/quire.db")}
The copy is a database of its own: quire serve --database file:<copy> serves it.
`,
    );
  return addJsonFlag(addConfigFlags(command, ["database"])).action(
    async (file: string, flags: ConfigFlags & { readonly json?: boolean }) => {
      const { database } = readConfig(flags);
      if (!database.startsWith("file:")) {
        throw new CliError("quire backup copies the embedded database; this one is PostgreSQL", {
          hints: [`use PostgreSQL's own tool: pg_dump --format=custom --file=${file} "$QUIRE_DATABASE"`],
        });
      }
      const source = sqlitePath(database);
      if (resolve(file) === source)
        throw new CliError("the copy cannot be the database itself", { exitCode: 2 });
      try {
        const { backup } = await import("../../storage/driver/backup.js");
        await backup(source, file);
      } catch (error) {
        throw new CliError(`the backup failed: ${(error as Error).message}`);
      }
      const { size } = await stat(file);
      if (flags.json) printJson(terminal, { database: source, file: resolve(file), bytes: size });
      else say(terminal, printable(`copied ${source} to ${file}: ${size.toLocaleString("en-US")} bytes`));
    },
  );
}
