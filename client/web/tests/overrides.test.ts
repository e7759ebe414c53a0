// Stepping in from the page: first whom it would have hit, then doing it, then undoing it; and what is in its way.
import type { Browser } from "playwright-core";
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
  expect(await verdict(changing, "job-1:etl")).toBe("VERDICT_ALLOWED");

  await page.getByRole("button", { name: "Pause etl" }).click();
  await page.locator(".done").getByText(/^Override \d+ is in force/).waitFor();
  expect(await verdict(changing, "job-1:etl")).toBe("VERDICT_DENIED");
  await page.locator("section", { hasText: "Overrides in force" }).getByText("disk is full").waitFor();

  await page.getByRole("button", { name: "Undo" }).click();
  await page.locator(".done").getByText(/is undone/).waitFor();
  expect(await verdict(changing, "job-1:etl")).toBe("VERDICT_ALLOWED");

  await page.getByRole("button", { name: "Undo" }).click();
  await page.locator(".done").getByText(/^Override \d+ is in force/).waitFor();
  expect(await verdict(changing, "job-1:etl")).toBe("VERDICT_DENIED");

  await page.getByRole("button", { name: /End override/ }).click();
  const end = page.getByRole("form", { name: /End override/ });
  await end.getByLabel("Reason").fill("there is room again");
  await end.getByLabel("Your name").fill("bob");
  await end.getByRole("button", { name: "End it" }).click();
  await page.getByText("No override is in force.").waitFor();
  expect(await verdict(changing, "job-1:etl")).toBe("VERDICT_ALLOWED");
  const audit = page.locator("section", { hasText: "Who did what" });
  await audit.getByText("there is room again").waitFor();
  await audit.getByText("disk is full").first().waitFor();
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
