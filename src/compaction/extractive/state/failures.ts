import { clipChars, oneLine } from "../clip.js";

const failing =
  /\b(?:\w*error|\w*exception|traceback|failed|failures?|fatal|panic|undefined reference|cannot find|not found|no such file|denied|exit(?:ed with)? code [1-9]\d*)\b|✗|✘|FAIL/iu;
/** Lines that count failures without having one. */
const none = /\b(?:0|no) (?:errors?|failures?|failed)\b|error handling|errors? *[:=] *0\b/iu;
/** Where tools give the failure of a command as its output. */
const saysSo = /\bexit(?:ed)?(?: with)?(?: code| status)?:? *[1-9]\d*\b|^Traceback \(most recent/imu;
const linesRead = 400;
const shownChars = 300;

/** What a command's output says of its failure, in its own words; empty where it did not fail. */
export function failureIn(output: string, isError: boolean): string {
  if (!isError && !saysSo.test(output.slice(0, 400)) && !saysSo.test(output.slice(-400))) return "";
  const lines: string[] = [];
  for (const line of output.slice(0, 65_536).split("\n", linesRead)) {
    if (!failing.test(line.slice(0, 400)) || none.test(line.slice(0, 400))) continue;
    lines.push(oneLine(line.slice(0, shownChars)));
    if (lines.length === 2) break;
  }
  const text = lines.length > 0 ? lines.join(" | ") : oneLine(output.slice(0, shownChars));
  return clipChars(text, shownChars);
}
