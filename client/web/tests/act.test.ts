// Acting where somebody is seen: on the target that is looked at and no other, and each order with its way back.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Headgated } from "./headgated";
import { open, openBrowser, overflow, seriousFaults, shoot } from "./look";

const CONFIG = `
targets: [{name: orders}, {name: billing}]
budgets:
  - {name: rows, rate: 1, burst: 10}
  - {name: per-tenant, rate: 1, burst: 10, split: {tag: tenant}}
rules:
  - {name: all, match: {identity: etl}, charge: [rows]}
  - {name: exports, match: {identity: export}, charge: [per-tenant]}
throttle_log: {step: 1s, coarse_step: 10s}
`;
const server = new Headgated(CONFIG, ["--page", "changes"]);
const readOnly = new Headgated(CONFIG);
let browser: Browser;
let holding: Promise<void>;
let running = true;

// Denied by the budget, since it can never have so much.
const deny = (to: Headgated, identity: string, target: string) => to.check(identity, 1000, { target });
const verdict = async (identity: string, target: string, more = {}) =>
  ((await server.check(identity, 0, { target, ...more }))["decision"] as { verdict: string }).verdict;

beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), server.start(), readOnly.start()]);
  await deny(readOnly, "nightly:etl", "orders");
  holding = (async () => {
    while (running) {
      for (const target of ["orders", "billing"]) await deny(server, "nightly:etl", target).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  })();
});
afterAll(async () => {
  running = false;
  await browser.close();
  await Promise.all([server.remove(), readOnly.remove()]);
  await holding;
});

const card = (page: Page, id: string) => page.locator(`[aria-labelledby=${id}]`);
const dialog = (page: Page) => page.getByRole("dialog");

async function giveReason(page: Page, reason: string) {
  await dialog(page).getByLabel("Reason").fill(reason);
  await dialog(page).getByLabel("Your name").fill("ann");
}
async function endIt(page: Page) {
  await giveReason(page, "it is over");
  await dialog(page).getByRole("button", { name: "End it" }).click();
  await dialog(page).getByText(/has ended/).waitFor();
  await page.keyboard.press("Escape");
}

test("a pause from Held back is of the target that is looked at; it leads then, and is undone where it is seen", async () => {
  const { page, faults } = await open(browser, `${server.url}/?target=orders`);
  const held = card(page, "held-back");
  await held.getByRole("button", { name: "Pause nightly:etl" }).click();
  await dialog(page).getByRole("heading", { name: "nightly:etl on orders" }).waitFor();
  await dialog(page).getByText(/In the last hour this would have hit/).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await shoot(page, "dialog-light");
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  await shoot(page, "dialog-360");
  await page.setViewportSize({ width: 1280, height: 900 });
  await giveReason(page, "disk is full");
  await dialog(page).getByRole("button", { name: "Pause nightly:etl on orders" }).click();
  await dialog(page).getByText(/^Override \d+ is in force/).waitFor();
  await dialog(page).getByText("Undo ends it at once.").waitFor();
  await page.keyboard.press("Escape");
  expect(await verdict("nightly:etl", "orders")).toBe("VERDICT_DENIED");
  expect(await verdict("nightly:etl", "billing")).toBe("VERDICT_ALLOWED");

  await held.getByText(/Now by override \d+: paused by ann \(disk is full\)/).waitFor();
  const order = card(page, "orders").locator("li", { hasText: "disk is full" });
  await order.getByText(/until [\d:]+ UTC, in (1 h|59 min)/).waitFor();
  await shoot(page, "paused-light");
  await held.getByRole("button", { name: /Undo override/ }).click();
  await endIt(page);
  await order.waitFor({ state: "detached" });
  expect(await verdict("nightly:etl", "orders")).toBe("VERDICT_ALLOWED");
  expect(faults).toEqual([]);
  await page.context().close();
});

test("everything on a target is stopped from its headline, and the banner has its end and the way out", async () => {
  const { page } = await open(browser, `${server.url}/?target=orders`);
  await page.getByRole("button", { name: "Stop everything on orders" }).click();
  await giveReason(page, "corruption");
  expect(await dialog(page).getByLabel("Exempt").count()).toBe(0);
  await dialog(page).getByRole("button", { name: "Pause everything on orders" }).click();
  await dialog(page).getByText(/is in force/).waitFor();
  await page.keyboard.press("Escape");
  expect(await verdict("any:job", "orders")).toBe("VERDICT_DENIED");
  expect(await verdict("any:job", "billing")).toBe("VERDICT_ALLOWED");
  const banner = page.locator(".stop");
  await banner.getByText(/orders is paused by ann since [\d:]+ UTC, until [\d:]+ UTC, in .*: corruption/).waitFor();
  await page.locator(".headline .verdict").getByText(/^paused/).waitFor();
  await banner.getByRole("button", { name: "End" }).click();
  await endIt(page);
  await banner.waitFor({ state: "detached" });
  expect(await verdict("any:job", "orders")).toBe("VERDICT_ALLOWED");
  await page.context().close();
});

test("a category is throttled from Who, and a job of it from the row of who waits", async () => {
  const { page } = await open(browser, `${server.url}/?view=who&target=orders&range=15m`);
  await card(page, "identities").getByRole("button", { name: "Act etl", exact: true }).click();
  await dialog(page).getByLabel("Throttle").check();
  await dialog(page).getByLabel("Share that is denied, %").fill("100");
  await giveReason(page, "too much");
  await dialog(page).getByRole("button", { name: "Throttle etl on orders" }).click();
  await dialog(page).getByText(/is in force/).waitFor();
  expect(await verdict("weekly:etl", "orders")).toBe("VERDICT_DENIED");
  await dialog(page).getByRole("button", { name: "Undo", exact: true }).click();
  await dialog(page).getByText(/has ended/).waitFor();
  await page.keyboard.press("Escape");
  expect(await verdict("weekly:etl", "orders")).toBe("VERDICT_ALLOWED");

  await server.check("big:export", 10, { target: "orders", tags: { tenant: "acme" } });
  const waits = server.check("small:export", 9, { target: "orders", tags: { tenant: "acme" }, max_wait: "600s" }).catch(() => undefined);
  await page.goto(`${server.url}/?target=orders`);
  await card(page, "lines").getByText("cost 9 ·").waitFor();
  await card(page, "lines").getByRole("button", { name: "Forgive small:export" }).click();
  // The bucket of the line is the one that is meant.
  await expect.poll(() => dialog(page).getByLabel("Its tag tenant").inputValue()).toBe("acme");
  await giveReason(page, "it was a mistake");
  await dialog(page).getByRole("button", { name: "Forgive what acme owes to per-tenant" }).click();
  await dialog(page).getByText(/^Forgiven: [\d.]+ that acme owed to per-tenant/).waitFor();
  await dialog(page).getByText(/cannot be brought back/).waitFor();
  const answer = (await waits) as { decision: { verdict: string } };
  expect(answer.decision.verdict).toBe("VERDICT_ALLOWED");
  await page.context().close();
});

test("what is paused already is not offered to be paused: it is said, with its Undo", async () => {
  await server.call("create_override", {
    ...{ kind: "OVERRIDE_KIND_PAUSE", selector: { identity: "etl", target: "orders" }, actor: "kim", reason: "vacuum", expires_in: "600s" },
  });
  const { page } = await open(browser, `${server.url}/?view=who&target=orders&identity=nightly:etl&range=15m`);
  const openDialog = () => page.locator(".bar").getByRole("button", { name: "Pause nightly:etl" }).click();
  const pause = dialog(page).getByRole("button", { name: "Pause nightly:etl on orders" });
  await openDialog();
  const already = dialog(page).locator(".ask");
  await already.getByText(/paused etl on orders by kim, until [\d:]+ UTC, in .*: vacuum/).waitFor();
  expect([await pause.count(), await dialog(page).getByLabel("Reason").count()]).toEqual([0, 0]);
  await dialog(page).getByLabel("Exempt").check();
  await dialog(page).getByRole("button", { name: "Exempt nightly:etl on orders" }).waitFor();
  await dialog(page).getByLabel("Pause").check();
  expect(await seriousFaults(page)).toEqual([]);
  await shoot(page, "already-light");
  await already.getByRole("button", { name: /Undo override/ }).click();
  await endIt(page);
  await openDialog();
  await pause.waitFor();
  await page.context().close();
});

test("at a gate or a pause nobody is said to wait at a cost of 0", async () => {
  const { override } = (await server.call("create_override", {
    ...{ kind: "OVERRIDE_KIND_PAUSE", selector: { identity: "slow:etl", target: "orders" }, actor: "kim", reason: "slow", expires_in: "600s" },
  })) as { override: { id: string } };
  const waits = server.check("slow:etl", 5, { target: "orders", max_wait: "600s" }).catch(() => undefined);
  const { page } = await open(browser, `${server.url}/?target=orders`);
  const line = card(page, "lines").locator("li", { hasText: "slow:etl" });
  await line.getByText(/^waits /).waitFor();
  expect(await line.innerText()).not.toMatch(/cost/);
  // Elsewhere nobody waits, and nobody is said to.
  await page.goto(`${server.url}/?target=billing`);
  await card(page, "lines").getByText("0 in line").waitFor();
  await server.call("delete_override", { id: override.id, reason: "done", actor: "kim" });
  await waits;
  await page.context().close();
});

test("a name that nobody has used is asked about, and the one that was meant is taken", async () => {
  const { page } = await open(browser, `${server.url}/?view=force&target=orders`);
  await page.getByLabel("Identity", { exact: true }).fill("nihgtly:etl");
  await page.getByLabel("Reason").fill("late");
  await page.getByLabel("Your name").fill("ann");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("alert").getByText("Nobody has used nihgtly:etl on orders in the last hour.").waitFor();
  const pause = page.getByRole("button", { name: "Pause nihgtly:etl on orders" });
  expect(await pause.isDisabled()).toBe(true);
  await page.getByLabel(/I mean it/).check();
  expect(await pause.isDisabled()).toBe(false);
  await page.getByRole("button", { name: "Take nightly:etl" }).click();
  expect(await page.getByLabel("Identity", { exact: true }).inputValue()).toBe("nightly:etl");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText(/In the last hour this would have hit/).waitFor();
  // Who looks at another target now acts on that one.
  await page.locator(".picker input").fill("billing");
  await page.locator(".picker input").press("Enter");
  await expect.poll(() => page.getByLabel("Target", { exact: true }).last().inputValue()).toBe("billing");
  expect(await page.getByRole("button", { name: /^Pause nightly:etl/ }).count()).toBe(0);
  await page.context().close();
});

test("who may change nothing is offered nothing but an explanation", async () => {
  const { page } = await open(browser, `${readOnly.url}/?target=orders`);
  const held = card(page, "held-back");
  await held.getByRole("link", { name: "Explain nightly:etl" }).waitFor();
  expect(await page.getByRole("button", { name: /^(Pause|Throttle|Exempt|Forgive|Stop|Act|Undo|End)/ }).count()).toBe(0);
  await page.context().close();
});
