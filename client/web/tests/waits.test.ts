// Jobs that wait are held back as those that are denied: Who has them in its chart, its strips and its causes.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Headgated } from "./headgated";
import { open, openBrowser, overflow, seriousFaults, shoot } from "./look";

const server = new Headgated(
  `
targets: [{name: orders}, {name: billing}]
budgets:
  - {name: slots, max_concurrency: 1}
  - {name: rows, rate: 1, burst: 10}
rules:
  - {name: etl, match: {identity: etl}, charge: [slots]}
  - {name: export, match: {identity: export}, charge: [rows]}
throttle_log: {step: 1s, coarse_step: 10s}
`,
  ["--page", "changes"],
);
let browser: Browser;

beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), server.start()]);
  // One holds the slot for good, and three wait for it.
  await server.check("holder:etl", 0, { target: "orders" });
  for (const identity of ["a:etl", "b:etl", "c:etl"]) void server.check(identity, 0, { target: "orders", max_wait: "600s" }).catch(() => {});
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

const card = (page: Page, id: string) => page.locator(`[aria-labelledby=${id}]`);
const WHO = "?view=who&target=orders&range=15m";

// How much of the chart has a colour of the page.
const pixelsOf = (page: Page, name: string) =>
  page.locator(".plot canvas").evaluate((canvas: HTMLCanvasElement, name) => {
    const hex = getComputedStyle(canvas).getPropertyValue(name).trim();
    const color = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) count += Number(color.every((part, j) => data[i + j] === part));
    return count;
  }, name);

test("where nobody was denied and three wait, the chart, the strips and the causes have them", async () => {
  const { page, faults } = await open(browser, `${server.url}/${WHO}`);
  await card(page, "history").getByText(/^1 allowed, 0 denied, .* waited in all, one Check for .*, in steps of [13]0 s/).waitFor();
  const plot = page.locator(".plot");
  await expect.poll(() => plot.getAttribute("aria-label"), { timeout: 60_000 }).toMatch(/at most 0 were denied; at most [23](\.\d)? waiting in the mean/);
  await expect.poll(() => pixelsOf(page, "--waiting"), { timeout: 60_000 }).toBeGreaterThan(0);
  expect(await pixelsOf(page, "--denied")).toBe(0);
  await plot.focus();
  await expect
    .poll(async () => {
      await page.keyboard.press("End");
      return page.locator(".tip").innerText();
    }, { timeout: 60_000 })
    .toMatch(/UTC: [01] allowed, 0 denied, [123](\.\d)? waiting$/);

  const row = card(page, "identities").locator("tr", { hasText: "etl" });
  await row.getByRole("img", { name: /Over time: at most ([1-9]|\d\d|100)(\.\d)? % held back/ }).waitFor();
  await expect.poll(() => row.locator(".strip .heat4").count(), { timeout: 60_000 }).toBeGreaterThan(0);
  await row.locator(".badge").getByText(/ %$/).waitFor();
  const cause = card(page, "causes").locator("li").first();
  await cause.getByText("budget slots (permits)").waitFor();
  await cause.getByText(/^waited /).waitFor();
  expect(await cause.innerText()).not.toMatch(/denial/);
  expect(await page.locator("main").innerText()).not.toMatch(/nobody (was held back|waited)|nothing was denied|at no time/i);
  expect(faults).toEqual([]);
  await page.context().close();
});

test("who waits for long comes before who was denied a few times, until it is sorted otherwise", async () => {
  for (let i = 0; i < 3; ++i) await server.check("small:export", 1000, { target: "orders" });
  const { page } = await open(browser, `${server.url}/${WHO}`, { colorScheme: "light" });
  const identities = card(page, "identities");
  const first = () => identities.locator("tbody tr td").first().innerText();
  await identities.getByRole("link", { name: "export", exact: true }).waitFor();
  await expect.poll(first).toBe("etl");
  await card(page, "causes").locator("li", { hasText: "budget rows" }).getByText("3 denials").waitFor();
  await expect.poll(() => card(page, "causes").locator("li").first().innerText()).toMatch(/budget slots/);
  await identities.getByRole("button", { name: "Denied", exact: true }).click();
  await expect.poll(first).toBe("export");
  await identities.getByRole("button", { name: "Held back most first" }).click();
  await expect.poll(first).toBe("etl");

  await identities.locator(".strip").nth(1).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await shoot(page, "waits-light");
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await seriousFaults(page)).toEqual([]);
  await shoot(page, "waits-dark");
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => overflow(page)).toBeLessThanOrEqual(0);
  await shoot(page, "waits-390-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await shoot(page, "waits-390-light");
  await page.context().close();
});
