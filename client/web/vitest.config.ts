import { defineConfig } from "vitest/config";

// Generous, because the machine may be busy: what is waited for mostly comes within a second.
export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: "forks",
    poolOptions: { forks: { maxForks: 2, minForks: 1 } },
    cache: false,
  },
});
