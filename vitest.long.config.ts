import { defineConfig } from "vitest/config";

/** Tests that take minutes: kill, soak, big fuzz. `npm run test:long`; CI runs them, too. */
export default defineConfig({
  test: {
    include: [
      "test/long/**/*.test.ts",
      // With more seeds and data than `npm test` has time for.
      "test/model/ledger.model.test.ts",
      "test/model/leases.test.ts",
      "test/assembly/tau-bench.test.ts",
    ],
    env: { QUIRE_MODEL_SEEDS: "1,2,3,4,5,6,7,8", QUIRE_EVERY_TRAJECTORY: "1" },
    testTimeout: 2_700_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    fileParallelism: false,
  },
});
