import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HELP } from "./help";

test("each panel's help leads to a page of the documentation that exists", () => {
  const missing = Object.values(HELP).filter(({ page }) => !existsSync(join(import.meta.dirname, "../../../../docs", `${page}.md`)));
  expect(missing).toEqual([]);
});
