import { defineConfig } from "vitest/config";

// `./dev web --picture` and `./dev web --cost` run these; no test does.
export default defineConfig({
  test: { include: ["tests/picture.ts", "tests/cost.ts"], testTimeout: 400_000, hookTimeout: 180_000 },
});
