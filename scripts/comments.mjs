// Fails where a comment of the contract does not begin with the name of what it documents, or is wider than 110 columns although
// it can be wrapped.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const columns = 110;
const declaration =
  /^\s*(?:(?:message|enum|service|oneof|rpc) (\w+)|(?:optional |repeated )?(?:map<[^>]*>|[\w.]+) (\w+) = \d|([A-Z]\w+) = \d)/;

/** Whether a line of a comment has a place to break it at, after its first word. */
function canBeWrapped(line) {
  const [, words] = /^\s*\/\/\s*(.*)$/.exec(line);
  return line.length > columns && words.includes(" ");
}

function problemsOf(text) {
  const problems = [];
  let comment = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (/^\s*\/\//.test(line)) {
      if (canBeWrapped(line))
        problems.push([index, `is ${line.length} columns wide, and may have ${columns}`]);
      comment.push(line.replace(/^\s*\/\/ ?/, ""));
      continue;
    }
    const [, type, field, value] = declaration.exec(line) ?? [];
    const name = type ?? field ?? value;
    const isOption = /^\s*(option|syntax|import|package) /.test(line);
    if (name && !isOption && !new RegExp(`^${name}\\b`).test(comment[0] ?? ""))
      problems.push([index, `the comment of ${name} must begin with its name`]);
    comment = [];
  }
  return problems;
}

let failed = 0;
for (const folder of ["proto", "contract"]) {
  const path = join(folder, "quire", "v1");
  for (const file of readdirSync(join(root, path))) {
    for (const [index, problem] of problemsOf(readFileSync(join(root, path, file), "utf8"))) {
      console.error(`${join(path, file)}:${index + 1}: ${problem}`);
      failed++;
    }
  }
}
if (failed > 0) process.exit(1);
console.log(`every comment begins with the name of what it documents, within ${columns} columns`);
