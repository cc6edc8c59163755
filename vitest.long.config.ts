import { defineConfig } from "vitest/config";

/** Tests that take minutes: kill, soak, big fuzz. `npm run test:long`; CI runs them, too. */
export default defineConfig({
  test: {
    include: ["test/long/**/*.test.ts"],
    testTimeout: 900_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    fileParallelism: false,
  },
});
