// Stepping in from the page: first whom it would have hit, then doing it, then undoing it; and what is in its way.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Headgated } from "./headgated";
import { open, openBrowser, type Look } from "./look";

const CONFIG = "budgets: [{name: rows, rate: 1000, burst: 1000}]\nrules: [{name: all, charge: [rows]}]\n";
const verdict = async (server: Headgated, identity: string) =>
  ((await server.check(identity))["decision"] as { verdict: string }).verdict;

let browser: Browser;
const changing = new Headgated(CONFIG, ["--page", "changes"]);
const readOnly = new Headgated(CONFIG);
const off = new Headgated(CONFIG, ["--page", "off"]);

beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), changing.start(), readOnly.start(), off.start()]);
});
afterAll(async () => {
  await browser.close();
  await Promise.all([changing.remove(), readOnly.remove(), off.remove()]);
});

const undo = (page: Page) => page.locator(".done").getByRole("button", { name: "Undo", exact: true });

async function fill({ page }: Look, whom: string, reason: string) {
  await page.getByLabel("Identity", { exact: true }).fill(whom);
  await page.getByLabel("Reason").fill(reason);
  await page.getByLabel("Your name").fill("alice");
  await page.getByRole("button", { name: "Preview" }).click();
}

test("a pause says whom it would have hit, is made, undone, and made again; all of it is in the list", async () => {
  for (let i = 0; i < 7; ++i) await changing.check("job-1:etl", 5);
  await changing.check("job-2:etl", 5);
  await changing.check("other", 5);
  const look = await open(browser, `${changing.url}/?view=force`);
  await fill(look, "etl", "disk is full");
  const { page } = look;
  await page.getByText("2 identities, 8 Checks").waitFor();
  expect(await page.evaluate(() => document.activeElement?.className)).toBe("confirm");
  expect(await verdict(changing, "job-1:etl")).toBe("VERDICT_ALLOWED");

  await page.getByRole("button", { name: "Pause etl" }).click();
  await page.locator(".done").getByText(/^Override \d+ is in force/).waitFor();
  expect(await verdict(changing, "job-1:etl")).toBe("VERDICT_DENIED");
  await page.locator("section", { hasText: "Overrides in force" }).getByText("disk is full").waitFor();
  // It can still be undone after a look at something else.
  await page.getByRole("link", { name: "Now" }).click();
  await page.getByRole("link", { name: "In force" }).click();

  await undo(page).click();
  await page.locator(".done").getByText(/has ended/).waitFor();
  expect(await verdict(changing, "job-1:etl")).toBe("VERDICT_ALLOWED");

  await undo(page).click();
  await page.locator(".done").getByText(/^Override \d+ is in force/).waitFor();
  expect(await verdict(changing, "job-1:etl")).toBe("VERDICT_DENIED");

  await page.getByRole("button", { name: /Undo override/ }).click();
  const end = page.getByRole("form", { name: /End override/ });
  await end.getByLabel("Reason").fill("there is room again");
  await end.getByLabel("Your name").fill("bob");
  await end.getByRole("button", { name: "End it" }).click();
  await page.getByRole("dialog").locator(".done").getByText(/has ended/).waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("No override is in force.").waitFor();
  expect(await verdict(changing, "job-1:etl")).toBe("VERDICT_ALLOWED");
  const audit = page.locator("section", { hasText: "Who did what" });
  await audit.getByText("there is room again").waitFor();
  await audit.getByText("disk is full").first().waitFor();
  // Ending it, too.
  await undo(page).click();
  await page.locator(".done").getByText(/is in force/).waitFor();
  expect(await verdict(changing, "job-1:etl")).toBe("VERDICT_DENIED");
  await undo(page).click();
  await page.locator(".done").getByText(/has ended/).waitFor();
  expect(look.faults).toEqual([]);
  await page.context().close();
});

test("the emergency stop is seen by whoever looks at Now", async () => {
  await changing.call("create_override", {
    kind: "OVERRIDE_KIND_PAUSE",
    selector: { everything: true },
    actor: "alice",
    reason: "corruption",
    expires_in: "60s",
  });
  const { page } = await open(browser, `${changing.url}/`);
  await page.getByText("Everything is paused").waitFor();
  await page.getByText("corruption").waitFor();
  await page.context().close();
});

test("with several targets the one that is looked at is meant, and said; what all of them share is seen on Now", async () => {
  const server = await new Headgated(`targets: [{name: orders}, {name: billing}]\n${CONFIG}`, ["--page", "changes"]).start();
  await server.check("job-1:etl", 5, { target: "orders" });
  const look = await open(browser, `${server.url}/?view=force&target=orders`);
  const { page } = look;
  await fill(look, "etl", "late");
  await page.getByRole("button", { name: "Pause etl on orders" }).click();
  await page.locator(".done").getByText(/is in force/).waitFor();
  await page.getByLabel("Whom").selectOption("everything");
  await page.getByLabel("Target", { exact: true }).last().fill("");
  await page.getByLabel("Reason").fill("corruption");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("button", { name: "Pause everything on all targets" }).click();
  await page.locator("section", { hasText: "Overrides in force" }).getByText("corruption").waitFor();
  await page.getByRole("link", { name: "Now" }).click();
  await page.getByRole("button", { name: "All targets" }).click();
  await page.getByText("Everything is paused").waitFor();
  await server.check("job-1:etl", 5, { target: "orders" });
  await page.getByRole("heading", { name: "Held back" }).waitFor();
  // A target that the configuration has lost is said to be gone, and there is a way on.
  server.write("headgate.yaml", `targets: [{name: billing}]\n${CONFIG}`);
  process.kill(server.pid, "SIGHUP");
  await page.goto(`${server.url}/?target=orders`);
  await page.getByText("has no target of this name").waitFor();
  await page.getByRole("link", { name: "All that there is" }).click();
  await page.getByRole("heading", { name: "Budgets" }).waitFor();
  expect(look.faults).toEqual([]);
  await page.context().close();
  await server.remove();
});

test("many overrides are searched, in pages, and ended where they stand", async () => {
  const server = await new Headgated(CONFIG, ["--page", "changes"]).start();
  for (let i = 0; i < 120; ++i) {
    await server.call("create_override", {
      kind: "OVERRIDE_KIND_PAUSE",
      selector: { identity: `job-${i}:etl` },
      actor: "alice",
      reason: `reason ${i}`,
      expires_in: "600s",
    });
  }
  const { page } = await open(browser, `${server.url}/?view=force`);
  const card = page.locator("section", { hasText: "Overrides in force" });
  await card.getByText("1 of 3").waitFor();
  await card.getByLabel("Search these overrides").fill("job-77:etl");
  await card.getByText("1 of 120").waitFor();
  await card.getByRole("button", { name: /Undo override/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").and(page.locator(":focus")).waitFor();
  await page.keyboard.type("it is over");
  await dialog.getByLabel("Your name").fill("bob");
  await dialog.getByRole("button", { name: "End it" }).click();
  await card.getByText("Nothing fits the search.").waitFor();
  expect(await verdict(server, "job-77:etl")).toBe("VERDICT_ALLOWED");
  await page.context().close();
  await server.remove();
});

test("where nobody is asked who they are, the page changes nothing, and says why", async () => {
  const look = await open(browser, `${readOnly.url}/?view=force`);
  await look.page.getByText(/the page is read-only, because the server asks nobody who they are/).waitFor();
  expect(await look.page.getByRole("button", { name: "Preview" }).count()).toBe(0);
  const status = await look.page.evaluate(async () => {
    const request = { kind: "OVERRIDE_KIND_PAUSE", selector: { everything: true }, actor: "x", reason: "y", expires_in: "60s" };
    const headers = { "Content-Type": "application/json" };
    return (await fetch("/v1/create_override", { method: "POST", headers, body: JSON.stringify(request) })).status;
  });
  expect(status).toBe(403);
  expect(await verdict(readOnly, "job")).toBe("VERDICT_ALLOWED");
  await look.page.context().close();
});

test("a page of another site reads nothing and changes nothing", async () => {
  // Another origin: that of a server of its own, which has no such policy as the page's.
  const { page } = await open(browser, `${readOnly.url}/openapi.json`);
  const answers = await page.evaluate(async (url) => {
    const tries: [string, RequestInit][] = [
      ["/v1/get_status", { method: "POST", body: "{}", headers: { "Content-Type": "application/json" } }],
      ["/v1/get_status", { method: "POST", body: "{}", mode: "no-cors" }],
      ["/v1/create_override", { method: "POST", body: "{}", mode: "no-cors" }],
      ["/page.js", { mode: "no-cors" }],
    ];
    return Promise.all(
      tries.map(([path, options]) =>
        fetch(url + path, options).then(
          (response) => response.type,
          () => "refused",
        ),
      ),
    );
  }, changing.url);
  expect(answers).toEqual(["refused", "opaque", "opaque", "refused"]);
  await page.context().close();
});

test("where there is to be no page, there is none", async () => {
  expect((await fetch(`${off.url}/`)).status).toBe(404);
  const refused = await fetch(`${off.url}/v1/get_status`, { method: "POST", headers: { Origin: off.url, "Content-Type": "application/json" }, body: "{}" });
  expect(refused.status).toBe(403);
});
