#!/usr/bin/env node
import { existsSync } from "node:fs";

const compiled = new URL("../dist/src/cli/quire.js", import.meta.url);
if (!existsSync(compiled)) {
  console.error("quire is not built yet: run `npm run build` (npm start does it, too)");
  process.exit(1);
}
await import(compiled.href);
