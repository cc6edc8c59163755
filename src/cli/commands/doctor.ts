import { dirname } from "node:path";
import { Command } from "commander";
import { clientOptions } from "../../config/client-options.js";
import { ConfigError } from "../../config/config-error.js";
import { loadConfig } from "../../config/load-config.js";
import type { Config } from "../../config/options.js";
import { packageRoot } from "../../config/package-root.js";
import { sqlitePath } from "../../storage/sqlite-path.js";
import { CliError } from "../cli-error.js";
import { checkAddress, checkServer } from "../doctor/address.js";
import { checkBuild } from "../doctor/build.js";
import { type Check, fail, ok } from "../doctor/check.js";
import { checkDataFolder, existingFolder } from "../doctor/data-folder.js";
import { checkDatabaseFile } from "../doctor/database-file.js";
import { checkNode } from "../doctor/node-version.js";
import { checkPostgres } from "../doctor/postgres.js";
import { checkSqlite } from "../doctor/sqlite.js";
import { checkToolchains } from "../doctor/toolchains.js";
import { counted, oneLine } from "../terminal/printable.js";
import { table } from "../terminal/table.js";
import { printJson, printLine, type Terminal } from "../terminal/terminal.js";
import {
  addConfigFlags,
  addServerFlags,
  type ConfigFlags,
  examples,
  readConfig,
  type ServerFlags,
} from "./options.js";

type DoctorFlags = ConfigFlags & ServerFlags;

export function doctorCommand(terminal: Terminal): Command {
  const command = new Command("doctor")
    .description("say what works on this machine, what is missing and how to mend it")
    .addHelpText(
      "after",
      `${examples("quire doctor", "quire doctor --database postgresql://me@db/quire")}
It changes nothing. With --address (or QUIRE_ADDRESS) it asks for that server; without, whether one can be started.
Exit code 1 when something would keep the server from running, or the server that was asked for does not answer.
`,
    );
  return addServerFlags(addConfigFlags(command)).action(async (flags: DoctorFlags) => {
    const checks = await runChecks(flags);
    const failed = checks.filter(({ status }) => status === "fail").length;
    if (flags.json) {
      printJson(terminal, { ok: failed === 0, checks });
    } else {
      const rows = checks.map(({ name, status, found, hint }) => [status, name, oneLine(found, 70), hint]);
      printLine(terminal, table(["", "WHAT", "FOUND", "WHAT TO DO"], rows));
    }
    if (failed > 0) throw new CliError(`${counted(failed, "check")} failed; the last column says what to do`);
  });
}

async function runChecks(flags: DoctorFlags): Promise<readonly Check[]> {
  const { config, check } = configuration(flags);
  const { address, authorities, isAsked } = clientOptions(flags);
  const embedded = config.database.startsWith("file:");
  const path = sqlitePath(config.database);
  const folder = embedded ? dirname(path) : packageRoot;
  return [
    checkNode(process.versions.node),
    await checkBuild(packageRoot),
    check,
    ...(await checkSqlite(existingFolder(folder))),
    ...(embedded
      ? [...(await checkDataFolder(folder)), await checkDatabaseFile(path)]
      : [await checkPostgres(config.database)]),
    ...(isAsked
      ? [await checkServer(address, authorities)]
      : await Promise.all(config.listen.map((each) => checkAddress(each, authorities)))),
    ...(await checkToolchains(packageRoot)),
  ];
}

/** With settings that cannot be used, the other checks look at the defaults. */
function configuration(flags: DoctorFlags): { readonly config: Config; readonly check: Check } {
  try {
    return { config: readConfig(flags), check: ok("Configuration", "valid") };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const check = fail(
      "Configuration",
      error.problems.join("; "),
      "the other checks look at the default settings",
    );
    return { config: loadConfig({ env: {} }), check };
  }
}
