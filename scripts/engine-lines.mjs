// Counts the lines of engine code in each language: neither blank nor comment. `--check` compares them with the README's table.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const within = (folder, ending) =>
  readdirSync(join(root, folder))
    // One flavour of a package is enough for an engine: what is only for asyncio is not counted, nor what is generated.
    .filter((name) => name.endsWith(ending) && name !== "_services.py" && !/^_?aio/.test(name))
    .map((name) => join(folder, name));

/** The agent's own lines, and what stands between it and the stubs. */
const engines = {
  TypeScript: [["examples/typescript/agent.ts"], within("clients/typescript/src", ".ts")],
  Python: [["examples/python/agent.py"], within("clients/python/src/quire", ".py")],
  Go: [
    ["examples/go/agent/main.go"],
    within("examples/go/agent", ".go").filter((name) => !name.endsWith("main.go")),
  ],
};

function linesOf(file) {
  const text = readFileSync(join(root, file), "utf8")
    .replaceAll(/"""[\s\S]*?"""/g, "")
    .replaceAll(/\/\*\*[\s\S]*?\*\//g, "");
  return text.split("\n").filter((line) => !/^\s*($|\/\/|#)/.test(line)).length;
}

const sum = (files) => files.map(linesOf).reduce((total, lines) => total + lines, 0);
const rows = Object.entries(engines).map(([language, [agent, glue]]) => {
  const [own, rest] = [sum(agent), sum(glue)];
  return { language, own, rest, isPackaged: language !== "Go" };
});
const table = rows.map(
  ({ language, own, rest, isPackaged }) =>
    `| ${language} | ${isPackaged ? own : "no package yet"} | ${own + rest} |`,
);
if (!process.argv.includes("--check")) console.log(table.join("\n"));
else {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const missing = table.filter((row) => !readme.includes(row));
  for (const row of missing) console.error(`README.md does not say: ${row}`);
  if (missing.length > 0) process.exitCode = 1;
  else console.log("the README says how many lines an engine has");
}
