import { writeFile } from "node:fs/promises";
import type { RenderedBody } from "../../contract/gen/quire/v1/rendering.js";
import { CliError } from "../cli-error.js";
import { counted, printable, printableJson } from "../terminal/printable.js";
import { bodyFormatName } from "./body-formats.js";
import type { Lines } from "./lines.js";

/** What a body is: whose, how large, its hash, and the tools that it calls otherwise. */
export function printBody(lines: Lines, { format, body, hash, toolNames }: RenderedBody): void {
  lines.entry("rendered", `${bodyFormatName(format)}, ${counted(body.length, "byte")}`);
  lines.below(lines.paint("dim", `SHA-256 ${Buffer.from(hash).toString("hex")}`));
  for (const [inBody, name] of Object.entries(toolNames))
    lines.below(printable(`the tool ${name} is ${inBody} in it`));
}

/** A body as people read it. */
export function bodyText({ body }: RenderedBody): string {
  return printableJson(JSON.stringify(JSON.parse(Buffer.from(body).toString("utf8")), undefined, 2));
}

/** Writes the exact bytes. */
export async function writeBody(file: string, { body }: RenderedBody): Promise<void> {
  try {
    await writeFile(file, body);
  } catch (error) {
    throw new CliError(`${file} cannot be written: ${(error as Error).message}`);
  }
}
