#!/usr/bin/env node
console.error(
  "This project has no native schema engine. Use `node scripts/prisma.mjs` (it prints its commands).",
);
process.exit(1);
