import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { serveFolder } from "../assembly/served-desk.js";
import { runCli } from "../cli/support/run-cli.js";
import { failure } from "../support/server.js";
import { tempFolder } from "../support/temp-folder.js";

const many = Array.from({ length: 1_200 }, (_, index) => `own-${String(index).padStart(4, "0")}`);

async function serveMany() {
  const folder = tempFolder();
  const catalogueFile = join(folder, "models.json");
  const entry = { contextTokens: 1_000, outputTokens: 100, vocabulary: null };
  writeFileSync(
    catalogueFile,
    JSON.stringify({ models: Object.fromEntries(many.map((name) => [name, entry])) }),
  );
  return serveFolder(folder, { catalogueFile });
}

test("ListModels gives 50 models unless asked for more, and all of them page by page", async () => {
  const { quire } = await serveMany();
  const first = await quire.assembly.listModels({ namePrefix: "own-" });
  expect(first.models.map(({ name }) => name)).toEqual(many.slice(0, 50));
  const seen: string[] = [];
  let pageToken = "";
  do {
    const page = await quire.assembly.listModels({ namePrefix: "own-", pageSize: 500, pageToken });
    seen.push(...page.models.map(({ name }) => name));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  expect(seen).toEqual(many);
  expect(await failure(quire.assembly.listModels({ pageSize: 1_001 }))).toMatchObject({
    reason: "INVALID_FIELD",
    fields: ["page_size"],
  });
});

test("quire models reads all pages", async () => {
  const { address } = await serveMany();
  const { out } = await runCli("models", "own-", "--json", "--address", address);
  expect(out.trim().split("\n")).toHaveLength(many.length);
});
