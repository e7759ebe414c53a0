// What goes wrong around the page: more than it shows, slow answers, wrong clocks, and what it cannot draw.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Headgated, until } from "./headgated";
import { open, openBrowser, overflow } from "./look";

const CONFIG = `
targets: [{name: orders}, {name: billing}]
budgets: [{name: rows, rate: 1, burst: 1}]
rules: [{name: all, charge: [rows]}]
throttle_log: {step: 1s, coarse_step: 10s}
`;
const server = new Headgated(CONFIG, ["--page", "changes"]);
let browser: Browser;
let holding: Promise<void>;
let running = true;

// Denied, since it is more than the budget can ever have.
const deny = (identities: readonly string[], target: string) =>
  server.call("batch_check", { checks: identities.map((identity) => ({ identity, target, estimated_cost: 1000 })) });

beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), server.start()]);
  await deny(
    Array.from({ length: 300 }, (_, i) => `early-${i}`),
    "orders",
  );
  holding = (async () => {
    while (running) {
      await deny(["held:now"], "orders").catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  })();
});
afterAll(async () => {
  running = false;
  await browser.close();
  await server.remove();
  await holding;
});

// What the page asks for at its end is let go first: whoever answers in the server's place would fail at a page that is gone.
async function leave(page: Page) {
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.context().close();
}

const heldBack = (page: Page) => page.locator("[aria-labelledby=held-back]");

test("who is held back now comes before hundreds that were, and what is cut is said", async () => {
  const { page } = await open(browser, server.url);
  await heldBack(page).locator("li").first().getByText("held:now").waitFor();
  await heldBack(page).getByText("300 identities").waitFor();
  await page.goto(`${server.url}/?view=who&range=15m`);
  const intervals = page.locator("[aria-labelledby=intervals]");
  await intervals.locator("li").first().getByText("held:now").waitFor();
  await intervals.getByText("the newest 200 of more").waitFor();
  await page.context().close();
});

test("the last denials are those of the target that is looked at, or say theirs", async () => {
  const { page } = await open(browser, `${server.url}/?view=who&target=billing`);
  const denials = page.locator("[aria-labelledby=denials]");
  await denials.getByText(/has denied nothing/).waitFor();
  await page.goto(`${server.url}/?view=who`);
  await denials.getByText("on orders").first().waitFor();
  await page.context().close();
});

test("a slow answer shows by its age, and the page asks again within seconds", async () => {
  const { page } = await open(browser, server.url);
  await page.locator(".age.good").waitFor();
  let isSlow = true;
  await page.route("**/v1/batch_read", async (route) => {
    if (isSlow) await new Promise((resolve) => setTimeout(resolve, 7000));
    await route.continue();
  });
  await page.locator(".age.warn").waitFor();
  isSlow = false;
  // 7 s for the answer, 5 s until the next question: it was ten times as long.
  await page.locator(".age.good").waitFor({ timeout: 60_000 });
  const ages = async () => Number(await page.locator("[data-age]").getAttribute("data-age"));
  await until("all of it is fresh again", async () => (await ages()) < 2);
  await leave(page);
});

test("an error is read out once, and not for as long as it lasts", async () => {
  const { page } = await open(browser, server.url);
  await page.locator(".age.good").waitFor();
  await page.route("**/v1/batch_read", (route) => route.abort());
  const alert = page.getByRole("alert");
  await alert.waitFor();
  const changes = await alert.evaluate(async (element) => {
    let count = 0;
    const observer = new MutationObserver((changed) => (count += changed.length));
    observer.observe(element, { childList: true, characterData: true, subtree: true });
    await new Promise((resolve) => setTimeout(resolve, 3000));
    return count;
  });
  expect(changes).toBe(0);
  await until("its age goes on", async () => Number(await page.locator("[data-age]").getAttribute("data-age")) > 3);
  await leave(page);
});

for (const minutes of [20, 1, -5]) {
  test(`a browser's clock that is wrong by ${minutes} min changes nothing`, async () => {
    const { page, faults } = await open(browser, "about:blank");
    await page.addInitScript((shift) => {
      const now = Date.now;
      Date.now = () => now() + shift;
    }, minutes * 60_000);
    const { override } = (await server.call("create_override", {
      ...{ kind: "OVERRIDE_KIND_PAUSE", selector: { identity: "nobody" }, actor: "kim", reason: "a clock", expires_in: "3600s" },
    })) as { override: { id: string } };
    await page.goto(`${server.url}/?target=orders`);
    await heldBack(page).locator("li", { hasText: "held:now" }).first().getByText(/now, for/).waitFor();
    await page.getByRole("link", { name: "Who", exact: true }).click();
    await page.locator("table").getByRole("link", { name: "now", exact: true }).waitFor();
    await page.getByRole("link", { name: "In force" }).click();
    await page.getByText(/until .* UTC, in (1 h|59 min)/).waitFor();
    await server.call("delete_override", { id: override.id, reason: "done", actor: "kim" });
    expect(faults).toEqual([]);
    await leave(page);
  });
}

test("a page without its server does not say that something is over", async () => {
  const { page } = await open(browser, server.url);
  const held = heldBack(page).locator("li", { hasText: "held:now" }).first();
  await held.getByText(/now, for/).waitFor();
  await page.route("**/v1/batch_read", (route) => route.abort());
  await page.getByRole("alert").waitFor();
  await page.evaluate(() => {
    const now = performance.now.bind(performance);
    performance.now = () => now() + 60_000;
  });
  await until("a minute is over", async () => Number(await page.locator("[data-age]").getAttribute("data-age")) > 60);
  await page.waitForTimeout(2500); // until it has tried again, and drawn
  expect(await held.getByText(/now, for/).count()).toBe(1);
  await leave(page);
});

test("a link to a time without end is shown until now", async () => {
  const { page, faults } = await open(browser, `${server.url}/?view=who&range=2026-01-01T00:00:00Z/9999-01-01T00:00:00Z`);
  await page.locator("table").getByRole("link", { name: "now", exact: true }).waitFor();
  await page.getByRole("link", { name: "In force" }).click();
  await page.getByRole("heading", { name: "Overrides in force" }).waitFor();
  expect(faults).toEqual([]);
  await page.context().close();
});

test("what cannot be drawn leaves the rest of the page as it is", async () => {
  const { page } = await open(browser, "about:blank");
  await page.route("**/v1/batch_read", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replaceAll(/"at":"[^"]*"/g, '"at":"once upon a time"') });
  });
  await page.goto(`${server.url}/?view=who`);
  await page.getByRole("alert").getByText(/This cannot be shown/).waitFor();
  await page.getByRole("link", { name: "In force" }).click();
  await page.getByRole("heading", { name: "Overrides in force" }).waitFor();
  await leave(page);
});

test("a stretch of time is chosen without a mouse, on a telephone too", async () => {
  const { page } = await open(browser, `${server.url}/?view=who`, { viewport: { width: 360, height: 740 } });
  await page.getByLabel("From (UTC)").fill("2026-03-01 06:00");
  await page.getByLabel("To (UTC)").fill("05:00");
  await page.getByText("It has to begin before it ends.").waitFor();
  await page.getByLabel("To (UTC)").fill("7:30 PM");
  await page.getByRole("button", { name: "Show this time" }).and(page.locator(":disabled")).waitFor();
  await page.getByLabel("To (UTC)").fill("07:30");
  await page.getByLabel("To (UTC)").press("Enter");
  await expect.poll(() => new URL(page.url()).searchParams.get("range")).toBe("2026-03-01T06:00:00.000Z/2026-03-01T07:30:00.000Z");
  await page.getByText("Nobody was answered in this time.").waitFor();
  await expect.poll(() => overflow(page)).toBeLessThanOrEqual(0);
  await page.context().close();
});
