// Explain is about the Check that a job sends: with its cost and tags, and beside what really became of its Checks.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Headgated } from "./headgated";
import { open, openBrowser } from "./look";

const CONFIG = `
budgets: [{name: per-tenant, rate: 0.001, burst: 100, split: {tag: tenant}}]
rules: [{name: etl, match: {identity: etl}, charge: [per-tenant]}]
`;
const server = new Headgated(CONFIG);
let browser: Browser;

beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), server.start()]);
  const tags = { tenant: "megacorp" };
  await server.check("nightly:etl", 90, { tags });
  for (let i = 0; i < 9; ++i) await server.check("nightly:etl", 90, { tags });
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

test("without the tag that its budget is split by an answer is said to be another one's, with what was really denied", async () => {
  const { page, faults } = await open(browser, `${server.url}/?view=explain&identity=nightly:etl`);
  const answer = page.locator("[aria-labelledby=answer]");
  await answer.getByText("would be allowed").waitFor();
  await answer.getByText(/which is not given: this answer is about Checks without it/).waitFor();
  const hour = page.locator("[aria-labelledby=last-hour]");
  await hour.getByText("90 % denied").waitFor();
  await hour.getByText("9 of 10 Checks").waitFor();
  await hour.getByText(/allowed now, but most of its Checks were denied/).waitFor();
  await hour.getByText("by budget per-tenant").waitFor();

  await page.getByLabel("Cost").fill("90");
  await page.getByRole("button", { name: "Explain", exact: true }).click();
  await answer.getByText("this Check adds 90").waitFor();
  await answer.getByRole("button", { name: /tenant=megacorp, 90 % full/ }).click();
  await answer.getByText("would be denied").waitFor();
  expect(await answer.getByText(/which is not given/).count()).toBe(0);
  // The job's own last Checks are offered, as it asked.
  await page.getByLabel("Tags").fill("");
  await page.getByLabel("Cost").fill("");
  await page.getByRole("button", { name: "Explain", exact: true }).click();
  await answer.getByText("would be allowed").waitFor();
  await hour.getByRole("button", { name: "Explain this Check that was denied" }).click();
  await answer.getByText("would be denied").waitFor();
  // All of it is in the address.
  const place = new URL(page.url()).searchParams;
  expect([place.get("cost"), place.get("tags")]).toEqual(["90", "tenant=megacorp"]);
  const other = await open(browser, page.url());
  await other.page.locator("[aria-labelledby=answer]").getByText("would be denied").waitFor();
  expect(await other.page.title()).toBe("nightly:etl · Explain · Headgate");
  expect([...faults, ...other.faults]).toEqual([]);
  await other.page.context().close();
  await page.context().close();
});

test("tags that are not written as tags are refused in words", async () => {
  const { page } = await open(browser, `${server.url}/?view=explain&identity=nightly:etl&tags=acme`);
  await page.getByText(/The tags of this address cannot be read/).waitFor();
  await page.getByLabel("Tags").fill("tenant acme");
  expect(await page.getByLabel("Tags").evaluate((input: HTMLInputElement) => input.validationMessage)).toBe("Tags are written tenant=acme, region=eu.");
  await page.context().close();
});

test("a job that nobody has seen is said to be one", async () => {
  const { page } = await open(browser, `${server.url}/?view=explain&identity=never:seen`);
  await page.getByText(/No Check of it was decided in the last hour/).waitFor();
  await page.getByText("No rule matches it: nothing limits it.").waitFor();
  await page.context().close();
});
