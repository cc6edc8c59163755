import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { Argument, Command } from "commander";
import type { BodyProblem } from "../../contract/gen/quire/v1/rendering.js";
import { validateBodyBytes } from "../../rendering/render.js";
import { type BodyFormatName, bodyFormatNames, bodyFormats } from "../assemble/body-formats.js";
import { CliError } from "../cli-error.js";
import { withClient } from "../client/with-client.js";
import { counted, oneLine } from "../terminal/printable.js";
import { table } from "../terminal/table.js";
import { printJson, printLine, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, type ServerFlags } from "./options.js";

export function validateCommand(terminal: Terminal): Command {
  const command = new Command("validate")
    .description("say which of a provider's rules a request body breaks, whoever made it")
    .addArgument(new Argument("<format>", "whose body it is").choices([...bodyFormatNames]))
    .addArgument(new Argument("[file]", "the body as JSON; - is stdin").default("-"))
    .addHelpText(
      "after",
      `${examples(
        "quire validate anthropic body.json",
        "quire assemble support-42 --capsule helper --message hi --render gemini | quire validate gemini",
      )}
It needs no server: the rules are in the command. --address asks a server for its own.
Exit code 1 when a rule is broken.
`,
    );
  return addServerFlags(command).action(async (format: BodyFormatName, file: string, flags: ServerFlags) => {
    const body = await readBody(file);
    const problems = await problemsOf(format, body, flags);
    if (flags.json) printJson(terminal, { ok: problems.length === 0, format, problems });
    else if (problems.length > 0) printLine(terminal, table(["RULE", "PATH", "MESSAGE"], problems.map(row)));
    else printLine(terminal, `fine: ${counted(body.length, "byte")} that ${format} takes`);
    if (problems.length > 0) throw new CliError(`the body breaks ${counted(problems.length, "rule")}`);
  });
}

async function problemsOf(
  format: BodyFormatName,
  body: Buffer,
  flags: ServerFlags,
): Promise<readonly BodyProblem[]> {
  if (flags.address === undefined) return validateBodyBytes({ format, bytes: body });
  return withClient(
    flags,
    async ({ assembly }) => (await assembly.validateBody({ format: bodyFormats[format], body })).problems,
  );
}

async function readBody(file: string): Promise<Buffer> {
  if (file === "-" && process.stdin.isTTY)
    throw new CliError("there is no body to look at", {
      exitCode: 2,
      hints: ["name a file, or give the body on stdin: quire validate anthropic < body.json"],
    });
  try {
    return file === "-" ? await buffer(process.stdin) : await readFile(file);
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

function row({ rule, path, message }: BodyProblem): readonly string[] {
  return [rule, oneLine(path, 60) || "-", oneLine(message, 120)];
}
