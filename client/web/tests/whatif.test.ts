// What if: the change beside what is in force, what makes it inexact in plain sight, and a refusal by itself.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Headgated } from "./headgated";
import { open, openBrowser } from "./look";

const config = (burst: number) => `
budgets: [{name: rows, rate: 0.001, burst: ${burst}}]
rules: [{name: all, match: {identity: etl}, charge: [rows]}]
`;
const server = new Headgated(config(50));
let browser: Browser;

beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), server.start()]);
  for (let i = 0; i < 20; ++i) await server.check("nightly:etl", 10);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

test("a change stands beside what is in force, and a file that is refused leaves nothing of it", async () => {
  const { page, faults } = await open(browser, `${server.url}/?view=whatif&range=15m`);
  await page.getByText(/in force: .*headgate\.yaml/).waitFor();
  const file = page.getByLabel("The changed headgate.yaml");
  // What is in force is there, to be changed.
  await expect.poll(() => file.inputValue()).toMatch(/burst: 50/);
  await file.fill((await file.inputValue()).replace("burst: 50", "burst: 100"));
  await page.getByRole("button", { name: "Replay" }).click();
  const result = page.locator("[aria-labelledby=result]");
  const side = (name: string) => result.locator(".tile", { hasText: name });
  await side("As it was").getByText("15 denied, 75 %").waitFor();
  await side("In force").getByText("15 denied, 75 %").waitFor();
  await side("Changed").getByText("10 denied, 50 %").waitFor();
  await result.getByText(/denies 10 Checks, −5 against the one in force/).waitFor();
  await result.getByText("What makes this inexact").waitFor();
  expect(await result.locator(".caveats li").count()).toBeGreaterThan(0);

  await file.fill(config(200));
  await result.getByText(/was changed since/).waitFor();
  await file.fill("budgets: [{name: x, rte: 1}]");
  await page.getByRole("button", { name: "Replay" }).click();
  await page.getByRole("alert").getByText(/rte/).waitFor();
  expect(await result.count()).toBe(0);
  await page.getByRole("button", { name: "Begin again with the one in force" }).click();
  await expect.poll(() => file.inputValue()).toMatch(/burst: 50/);
  expect(faults).toEqual([]);
  await page.context().close();
});
