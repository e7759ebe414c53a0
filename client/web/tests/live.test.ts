// What is shown is live: it says how old it is, rests while nobody looks, and comes back by itself.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Headgated, until } from "./headgated";
import { open, openBrowser } from "./look";

const server = new Headgated("budgets: [{name: rows, rate: 1, burst: 1000}]\nrules: [{name: all, charge: [rows]}]\n");
let browser: Browser;

beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), server.start()]);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

test("what changes in the server is on the page within a second or two, without anybody's doing", async () => {
  const { page } = await open(browser, server.url);
  await page.getByText(/owes 0 of 1,000/).waitFor();
  await server.check("job", 700);
  await page.getByText(/owes (69\d|700) of 1,000/).waitFor();
  let calls = 0;
  page.on("request", (request) => (calls += Number((request.postData() ?? "").includes("list_budgets"))));
  await until("it asks again and again", () => calls >= 3);
  await page.context().close();
});

test("a restart is said, what was known stays with its age, and the page goes on by itself", async () => {
  const { page, faults } = await open(browser, server.url);
  await page.getByText(/of 1,000/).waitFor();
  await server.stop();
  await page.getByRole("alert").getByText(/cannot be reached/).waitFor();
  await page.getByText(/of 1,000/).waitFor();
  await until("its age is said", async () => Number(await page.locator("[data-age]").getAttribute("data-age")) > 2);
  await server.start();
  await page.locator(".age.good").waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
  expect(faults).toEqual([]);
  await page.context().close();
});

test("a page that is hidden asks for nothing", async () => {
  const { page } = await open(browser, server.url);
  await page.getByText(/of 1,000/).waitFor();
  const hide = (hidden: boolean) =>
    page.evaluate((value) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  let calls = 0;
  page.on("request", () => ++calls);
  await hide(true);
  await until("what is under way is over, and nothing follows", async () => {
    const before = calls;
    await page.waitForTimeout(2500);
    return calls === before;
  });
  const before = calls;
  await hide(false);
  await until("it asks again", () => calls > before);
  await page.context().close();
});

// Whoever waits for the turn is held back as well.
test("where nobody was denied, and somebody waits, nobody is said to be free", async () => {
  const { page } = await open(browser, server.url);
  await page.getByText(/of none half of the Checks were denied\./).waitFor();
  const waits = server.check("job", 990, { max_wait: "600s" }).catch(() => undefined); // the server ends before
  await page.getByText(/of none half of the Checks were denied; 1 Check waits in line now\.|waited [\d.]+ % of the time/).waitFor();
  await page.context().close();
  await server.stop();
  await waits;
});
