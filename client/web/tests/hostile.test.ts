// What others write is text: in identities, reasons, names of rules, budgets, targets and actors.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Headgated, until } from "./headgated";
import { visible } from "../src/text/format";
import { open, openBrowser, overflow, shoot } from "./look";

const LONG = "w".repeat(128);
const HOSTILE = [
  `<img src=x onerror="window.hit=1">`,
  `"><script>window.hit=1</script>`,
  `' onmouseover='window.hit=1' x='`,
  "\u202Egnp.exe \u05E9\u05DC\u05D5\u05DD \u2066 \u0645\u0631\u062D\u0628\u0627",
  "{{7*7}} ${7*7} javascript:window.hit=1",
  "&lt;b&gt; &amp; </bdi></p></main>",
  LONG,
];
// What a configuration may be named is narrower than what somebody may write as a reason.
const RULES = HOSTILE.map((text, i) => `  - {name: ${JSON.stringify(`${i} ${text}`.slice(0, 120))}, match: {segment: s${i}}, priority: ${i}}`);
const CONFIG = `
budgets: [{name: rows, rate: 1, burst: 10}]
rules:
  - {name: all, charge: [rows]}
${RULES.join("\n")}
`;

const server = new Headgated(CONFIG, ["--page", "changes"]);
let browser: Browser;

beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), server.start()]);
  for (const text of HOSTILE) {
    const made = await server.call("create_override", {
      kind: "OVERRIDE_KIND_PAUSE",
      selector: { identity: `${LONG}:job` },
      actor: text,
      reason: text,
      expires_in: "3600s",
    });
    expect(made["override"]).toBeDefined();
  }
  for (let i = 0; i < 20; ++i) await server.check(`${LONG}:job`, 5);
  for (let i = 0; i < HOSTILE.length; ++i) await server.check(`s${i}:${LONG}`, 5);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

async function isHarmless(page: Page, faults: string[]) {
  expect(await page.evaluate(() => (globalThis as { hit?: number }).hit)).toBeUndefined();
  expect(await page.locator("main img, main script, main b").count()).toBe(0);
  expect(await page.locator("main").innerText()).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
  expect(await page.locator("main").count()).toBe(1);
  expect(faults).toEqual([]);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
}

const PLACES = [
  ["now", ""],
  ["who", `?view=who&identity=${LONG}:job`],
  ["who-html", `?view=who&identity=${encodeURIComponent(HOSTILE[0]!)}&segment=${encodeURIComponent(HOSTILE[1]!)}`],
  ["force", `?view=force&identity=s0:${LONG}`],
  ["explain", `?view=explain&identity=s0:${LONG}&tags=${encodeURIComponent("a=<b>x</b>")}`],
  ["explain-html", `?view=explain&identity=${encodeURIComponent(HOSTILE[0]!)}&tags=${encodeURIComponent(HOSTILE[1]!)}&cost=${encodeURIComponent(HOSTILE[0]!)}&pattern=${encodeURIComponent(HOSTILE[3]!)}`],
  ["force-html", `?view=force&identity=${encodeURIComponent(HOSTILE[0]!)}&target=${encodeURIComponent(HOSTILE[1]!)}`],
  ["whatif", `?view=whatif&identity=${encodeURIComponent(HOSTILE[2]!)}`],
  ["search", `?q=${encodeURIComponent(HOSTILE[0]!)}&sort=${encodeURIComponent(HOSTILE[0]!)}&range=${encodeURIComponent(HOSTILE[1]!)}`],
] as const;

test("hostile texts do no harm anywhere, on a wide screen and on a narrow one", async () => {
  const { page, faults } = await open(browser, "about:blank");
  for (const [name, query] of PLACES) {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${server.url}/${query}`);
    await page.locator("h2").first().waitFor();
    await until("all is loaded", async () => (await page.getByText("Loading…").count()) === 0);
    if (name === "force") {
      // Whole, and as it was written, but for what cannot be seen.
      for (const text of HOSTILE) expect(await page.locator("bdi", { hasText: visible(text) }).count()).toBeGreaterThan(0);
    }
    await isHarmless(page, faults);
    await page.setViewportSize({ width: 360, height: 740 });
    await until("the page is as narrow as the window", async () => (await overflow(page)) <= 0);
    await isHarmless(page, faults);
    if (name === "force") await shoot(page, "hostile-360");
  }
  await page.context().close();
});
