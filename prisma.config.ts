import { fileURLToPath } from "node:url";
import { defineConfig } from "prisma/config";

// `prisma generate` insists on a schema engine that exists, though it never starts it, and Prisma's own is
// downloaded from a host that may not be reachable. This stand-in exists and refuses every command: one that
// exits 0 would let `migrate deploy` and `db push` report success and do nothing.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= fileURLToPath(
  new URL("./scripts/prisma/no-schema-engine.mjs", import.meta.url),
);

// No `schema` here: scripts/prisma.mjs merges the shared models with one provider's datasource and passes the result.
export default defineConfig({});
