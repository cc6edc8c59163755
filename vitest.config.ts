import { defineConfig } from "vitest/config";
import { useFastTemp } from "./test/support/fast-temp.js";

useFastTemp();

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/long/**"],
    // They matter to what hangs, and not to what is slow: nothing here is timed.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    maxWorkers: 2,
    // TypeScript that is generated at test time, by test/support/parity.
    server: { deps: { inline: [/\.cache\/parity-client\//] } },
  },
});
