import { text } from "node:stream/consumers";
import { CliError } from "../cli-error.js";

/** The message of the flag, or what comes on stdin. A person at the terminal is not waited for. */
export async function readMessage(flag: string | undefined): Promise<string> {
  if (flag) return flag;
  const piped = flag === undefined && !process.stdin.isTTY ? await text(process.stdin) : "";
  // The line end is that of the command before the pipe, not of the message.
  const message = piped.replace(/\r?\n$/, "");
  if (message) return message;
  throw new CliError("there is no message to answer", {
    exitCode: 2,
    hints: ["--message <text>, or the text on stdin: echo hello | quire assemble ..."],
  });
}
