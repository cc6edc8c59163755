// Writes docs/models.md: every model that the installed SDKs name in their types, as the catalogue has it. `--check` only compares.
// It reads the compiled catalogue, so `npm run build` comes first.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const page = join(root, "docs", "models.md");
const compiled = join(root, "dist", "src", "models", "catalogue.js");
if (!existsSync(compiled)) {
  console.error("the catalogue is not compiled: run npm run build first");
  process.exit(1);
}
const { findModel, parseCatalogue } = await import(compiled);
const catalogue = parseCatalogue(readFileSync(join(root, "src", "models", "catalogue.json"), "utf8"));

/** Where each SDK names models, and what of it is a model that takes a conversation. */
const sources = [
  {
    sdk: "@anthropic-ai/sdk",
    file: "resources/messages/messages.d.ts",
    within: /export type Model = ([^;]+);/,
    names: /'(claude-[^']+)'/g,
  },
  {
    sdk: "openai",
    file: "resources/shared.d.ts",
    within: /export type (?:AllModels|ChatModel) = ([^;]+);/g,
    names: /'([a-z][^']+)'/g,
  },
  {
    sdk: "@google/genai",
    file: "dist/genai.d.ts",
    within: /^[\s\S]*$/,
    names: /'((?:models\/)?(?:gemini|gemma)-[^']+)'/g,
  },
];

function namesOf({ sdk, file, within, names }) {
  const text = readFileSync(join(root, "node_modules", sdk, file), "utf8");
  const parts = within.global ? [...text.matchAll(within)] : [within.exec(text)];
  const found = parts.flatMap((part) =>
    [...(part?.[1] ?? part?.[0] ?? "").matchAll(names)].map(([, name]) => name),
  );
  if (found.length === 0) throw new Error(`${sdk} names no model in ${file}: its types look different now`);
  return [...new Set(found)].sort();
}

const number = (value) => value.toLocaleString("en-US");

function cacheText({ kind, minTokens, ttlSeconds, readPrice, writePrice, maxBreakpoints }) {
  if (kind === "none") return "none: nothing is kept";
  const marks = kind === "breakpoints" ? `up to ${maxBreakpoints} breakpoints` : "by prefix";
  return `${marks}, from ${number(minTokens)} tokens, ${ttlSeconds / 60} min, read ${readPrice}, write ${writePrice}`;
}

function row(name) {
  const { entry, known, family, name: plain, assumed } = findModel(catalogue, name);
  if (!known) throw new Error(`nothing in the catalogue covers ${name}, which an SDK names`);
  const window = `${number(entry.contextTokens)} / ${number(entry.outputTokens)}`;
  const prices = entry.inputPrice === undefined ? "" : `${entry.inputPrice} / ${entry.outputPrice}`;
  const source = family ? `family \`${family}\`` : plain === name ? "exact" : `exact, as \`${plain}\``;
  const doubt = family ? "everything" : assumed.join(", ");
  return `| \`${name}\` | ${window} | ${cacheText(entry.cache)} | ${entry.parameters.join(", ")} | ${prices} | ${source} | ${doubt} |`;
}

const sections = sources.map((source) => {
  const { version } = JSON.parse(
    readFileSync(join(root, "node_modules", source.sdk, "package.json"), "utf8"),
  );
  return [
    `## ${source.sdk} ${version}`,
    "",
    "| model | window / output | prompt cache | parameters | $ in / out | found | assumed |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...namesOf(source).map(row),
    "",
  ].join("\n");
});
const text = `# Models

Every model that the installed SDKs name in their types, and what \`src/models/catalogue.json\` knows of it.
\`npm run models\` writes this page, and a test compares it.

A model is found by its exact name, then by that name without what places, routes and dates add to it
(\`us.anthropic.claude-opus-4-5-20251101-v1:0\`, \`openai/gpt-5\`, \`models/gemini-2.5-pro-preview-05-06\`), then by the family
whose pattern covers it. What only a family stands for is assumed. So is what the last column names: it is the
best public knowledge, but nobody verified it. A name that nothing covers gets a window of 128,000 tokens, and a
warning with each context. Prices are US dollars for a million tokens; those of the cache are shares of an input token's.

${sections.join("\n")}`;

if (!process.argv.includes("--check")) {
  writeFileSync(page, text);
  console.log("docs/models.md is written");
} else if (!existsSync(page) || readFileSync(page, "utf8") !== text) {
  console.error("docs/models.md is not what the catalogue and the SDKs say: run npm run models");
  process.exit(1);
} else console.log("docs/models.md says what the catalogue and the SDKs do");
