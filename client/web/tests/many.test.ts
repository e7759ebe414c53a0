// Five hundred targets, and ten thousand identities in the log: searched, sorted, in pages, and fast enough to use.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Headgated } from "./headgated";
import { open, openBrowser, overflow, seriousFaults, shoot } from "./look";

const TARGETS = 500;
const IDENTITIES = 10_000;
const DSN = `host=${process.env["PGHOST"]} user=postgres dbname=postgres`;
const name = (i: number) => `shard-${String(i).padStart(3, "0")}`;
// Some are measured, some cannot be reached, most of them are not watched at all.
const watched = (dsn: string) => `, default_health: h, primary: {dsn: "${dsn}"}`;
const health = (i: number) => (i % 25 === 7 ? watched(DSN) : i % 100 === 42 ? watched("host=/nowhere dbname=postgres") : "");
const CONFIG = `
targets:
${Array.from({ length: TARGETS }, (_, i) => `  - {name: ${name(i)}${health(i)}}`).join("\n")}
health_profiles: [{name: h, signals: [{name: active_backends, soft: 60, hard: 90}]}]
budgets: [{name: rows, rate: 1000, burst: 1000}]
rules: [{name: all, charge: [rows]}]
throttle_log: {max_identities: 65536}
`;

const server = new Headgated(CONFIG);
let browser: Browser;

beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), server.start()]);
  for (let first = 0; first < IDENTITIES; first += 1000) {
    const checks = Array.from({ length: 1000 }, (_, i) => ({ identity: `job-${first + i}:mass`, target: name(0), estimated_cost: 1 }));
    await server.call("batch_check", { checks });
  }
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

test("500 targets: the worst come first, and one is found by a word of its name", async () => {
  const { page, faults } = await open(browser, server.url);
  const rows = page.locator("tbody tr");
  await page.getByText("1 of 10").waitFor();
  expect(await rows.count()).toBe(50);
  await rows.first().getByText(/shut|stale|warming/).waitFor();
  await shoot(page, "fleet-500");
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("2 of 10").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("shard-123");
  await page.getByText("1 of 500").waitFor();
  await page.getByRole("link", { name: "shard-123" }).click();
  await page.getByRole("heading", { name: /shard-123/ }).waitFor();
  await page.goto(`${server.url}/?sort=name`);
  await rows.first().getByText("shard-000").waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  await expect.poll(() => overflow(page)).toBeLessThanOrEqual(0);
  expect(faults).toEqual([]);
  await page.context().close();
});

test("10,000 identities: sorted by what was denied, searched, and in pages", async () => {
  const { page, faults } = await open(browser, `${server.url}/?view=who&identity=mass`);
  await page.getByText("500, and the server has more").waitFor();
  await page.getByRole("button", { name: "Identity", exact: true }).click();
  await page.getByText("1 of 200").waitFor();
  await page.locator("tbody tr").first().getByText("job-0:mass").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("job-9999");
  await page.getByText("1 of 10,000").waitFor();
  await page.locator("table").getByRole("link", { name: "job-9999:mass", exact: true }).click();
  await page.getByText("itself").waitFor();
  await shoot(page, "who-10000");
  expect(faults).toEqual([]);
  await page.context().close();
});

test("5,000 tenants that are held back are two rows, by root and cause, with counts of all", async () => {
  const crowd = new Headgated(`
targets: [{name: orders}]
budgets: [{name: rows, rate: 1, burst: 1}, {name: bytes, rate: 1, burst: 1}]
rules:
  - {name: etl, match: {identity: etl}, charge: [rows]}
  - {name: export, match: {identity: export}, charge: [bytes]}
throttle_log: {max_identities: 65536}
`);
  await crowd.start();
  const ask = (root: string, count: number) => {
    for (let first = 0; first < count; first += 1000) {
      const checks = Array.from({ length: Math.min(1000, count - first) }, (_, i) => ({ identity: `tenant-${first + i}:${root}`, target: "orders", estimated_cost: 1000 }));
      asked.push(crowd.call("batch_check", { checks }));
    }
  };
  const asked: Promise<unknown>[] = [];
  ask("etl", 4000);
  ask("export", 1000);
  await Promise.all(asked);
  const { page, faults } = await open(browser, crowd.url);
  const held = page.locator("[aria-labelledby=held-back]");
  await held.getByText("4,000 identities", { exact: true }).waitFor();
  await held.getByText("4,000 denials").waitFor();
  await held.getByText("1,000 identities", { exact: true }).waitFor();
  await held.getByText("By budget rows").waitFor();
  await held.getByText("By budget bytes").waitFor();
  expect(await held.locator("ul.rows").first().locator("> li").count()).toBe(2);
  await held.getByText("Each by itself").first().click();
  await held.getByText("3,990 more under Who").waitFor();
  await shoot(page, "held-5000");
  await page.setViewportSize({ width: 360, height: 740 });
  await expect.poll(() => overflow(page)).toBeLessThanOrEqual(0);
  await page.goto(`${crowd.url}/?view=who`);
  await page.locator("[aria-labelledby=causes]").getByText("budget rows").waitFor();
  expect(faults).toEqual([]);
  await page.context().close();
  await crowd.remove();
});

test("a search that is in the address is seen, however few there are, and where nothing is searched", async () => {
  const { page } = await open(browser, `${server.url}/?view=who&q=nobody`);
  await expect.poll(() => page.getByLabel("Search this table").inputValue()).toBe("nobody");
  await page.getByText(/Nothing fits the search; without it there/).waitFor();
  await page.getByLabel("Search this table").fill("");
  await page.locator("tbody").getByText("mass").waitFor();
  await page.goto(`${server.url}/?view=force&q=nobody`);
  await page.getByRole("button", { name: "search nobody" }).click();
  await expect.poll(() => page.url()).not.toContain("q=");
  await page.context().close();
});
