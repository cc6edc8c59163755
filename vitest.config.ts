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
    // Files of one worker share what they import: to load it for each of them took as long as a third of the tests.
    isolate: false,
    // TypeScript that is generated at test time, by test/support/parity.
    server: { deps: { inline: [/\.cache\/parity-client\//] } },
  },
});
