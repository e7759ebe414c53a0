// Each view, with a real server, a real PostgreSQL and jobs at work: what is on it, that it can be read by everybody,
// on any screen, and that it loads fast and from nowhere else.
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "./headgated";
import { open, openBrowser, overflow, seriousFaults, shoot } from "./look";
import { Scene } from "./scene";

const scene = new Scene();
let browser: Browser;

beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), scene.start()]);
  scene.wait(["monthly:export", "yearly:export", "ad-hoc:urgent:export", "quarterly:export"]);
  await scene.server.call("create_override", {
    kind: "OVERRIDE_KIND_THROTTLE",
    selector: { identity: "copy:backfill", target: "orders" },
    ratio: 0.25,
    actor: "alice",
    reason: "failover drill",
    expires_in: "3600s",
  });
});
afterAll(async () => {
  await browser.close();
  await scene.stop();
});

interface View {
  name: string;
  query: string;
  // What is there once it has all been asked for.
  ready: (page: Page) => Promise<void>;
}

const text = (page: Page, what: string | RegExp, within = "main") => page.locator(within).getByText(what).first().waitFor();

const CHANGED = `targets: [{name: orders}, {name: billing}]
budgets:
  - {name: backfills, rate: 5, burst: 40}
rules:
  - {name: backfills, match: {identity: backfill}, charge: [backfills]}
`;

async function replay(page: Page) {
  await page.getByLabel("The changed headgate.yaml").fill(CHANGED);
  await page.getByRole("button", { name: "Replay" }).click();
  await text(page, "What would have been");
  await text(page, "orders-1:copy:backfill", "table");
}

const VIEWS: readonly View[] = [
  { name: "fleet", query: "", ready: (page) => text(page, "orders", "table") },
  {
    name: "now",
    query: "?target=orders",
    ready: async (page) => {
      await text(page, /now, for/);
      await text(page, /queue_depth/);
      // What is below is asked for once it is on the screen.
      for (const [id, what] of [
        ["lines", /nobody can know|next turn in/],
        ["budgets", /of 300/],
        ["buckets", "copy:backfill"],
      ] as const) {
        await page.locator(`#${id}`).scrollIntoViewIfNeeded();
        await text(page, what, `section[aria-labelledby=${id}]`);
      }
      await page.evaluate(() => scrollTo(0, 0));
    },
  },
  { name: "slowed", query: "?target=billing", ready: (page) => text(page, /slowed to 60 %/) },
  {
    name: "who",
    query: "?view=who&range=15m",
    ready: async (page) => {
      await text(page, "backfill", "table");
      await page.locator(".strip").first().waitFor();
      await text(page, /budget per-job/, "[aria-labelledby=causes]");
      await text(page, /where the limit is/);
    },
  },
  {
    name: "force",
    query: "?view=force&target=orders",
    ready: async (page) => {
      await text(page, "failover drill");
      await text(page, "with the segment urgent", "[aria-labelledby=rules]");
      await text(page, "Preview");
    },
  },
  {
    name: "explain",
    query: "?view=explain&target=orders&identity=orders-1:copy:backfill&cost=20",
    ready: async (page) => {
      await text(page, /charges backfills/, "[aria-labelledby=answer]");
      await text(page, /this Check adds 20/, "[aria-labelledby=answer]");
      await text(page, /of [\d,]+ Checks/, "[aria-labelledby=last-hour]");
    },
  },
  { name: "whatif", query: "?view=whatif", ready: replay },
];

for (const view of VIEWS) {
  test(`${view.name} is whole in light and dark, and axe-core finds nothing serious`, async () => {
    const look = await open(browser, `${scene.server.url}/${view.query}`, { colorScheme: "light" });
    await view.ready(look.page);
    await shoot(look.page, `${view.name}-light`);
    expect(await seriousFaults(look.page)).toEqual([]);
    await look.page.emulateMedia({ colorScheme: "dark" });
    expect(await seriousFaults(look.page)).toEqual([]);
    await shoot(look.page, `${view.name}-dark`);
    await look.page.setViewportSize({ width: 360, height: 740 });
    await look.page.emulateMedia({ colorScheme: "light" });
    if (view.name === "now") await view.ready(look.page);
    await until("the page is as narrow as the window", async () => (await overflow(look.page)) <= 0);
    await shoot(look.page, `${view.name}-360`);
    expect(look.faults).toEqual([]);
    expect([...look.hosts]).toEqual([new URL(scene.server.url).host]);
    await look.page.context().close();
  });
}

test("all that the page loads is at most 100 kB, and its reader sees something useful within a second", async () => {
  const folder = join(import.meta.dirname, "../../../server/serve/web/page");
  const bytes = ["index.html", "page.js", "page.css"].map((file) => gzipSync(readFileSync(join(folder, file)), { level: 9 }).length);
  expect(bytes.reduce((all, size) => all + size)).toBeLessThan(100_000);

  // The best of a few, and more leave where the machine is busy with something else, which is not the page's time.
  // At all times for half a second: more that runs, or would, than there are processors.
  const isMachineBusy = async () => {
    let least = Infinity;
    for (let i = 0; i < 10; ++i) {
      least = Math.min(least, Number(readFileSync("/proc/loadavg", "utf8").split(/[ /]/)[3]));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return least > cpus().length;
  };
  let isBusy = false;
  const limitMs = () => (isBusy ? 20_000 : 1000);
  const times: number[] = [];
  for (let i = 0; i < 10 && Math.min(...times, Infinity) > limitMs(); ++i) {
    isBusy ||= await isMachineBusy();
    const { page } = await open(browser, "about:blank");
    await page.goto(`${scene.server.url}/?target=orders`, { waitUntil: "commit" });
    await page.locator(".headline").waitFor();
    times.push(await page.evaluate(() => performance.now()));
    await page.context().close();
  }
  console.log(`first useful paint after ${Math.round(Math.min(...times))} ms; ${bytes.join(" + ")} bytes gzipped${isBusy ? "; the machine is busy" : ""}`);
  expect(Math.min(...times)).toBeLessThan(limitMs());
});

test("what is looked at is in the address, and the way back leads back", async () => {
  const { page } = await open(browser, `${scene.server.url}/?view=who&range=15m`);
  await page.locator("table").getByRole("link", { name: "backfill", exact: true }).click();
  await page.locator("table").getByRole("link", { name: "copy:backfill", exact: true }).click();
  await expect.poll(() => page.url()).toContain("identity=copy%3Abackfill");
  const other = await open(browser, page.url());
  await text(other.page, "orders-1:copy:backfill", "table");
  await page.goBack();
  await text(page, "verify:backfill", "table");
  await page.context().close();
  await other.page.context().close();
});

test("everything is reached by the keyboard alone", async () => {
  const { page } = await open(browser, `${scene.server.url}/`);
  await text(page, "orders", "table");
  const focused = () =>
    page.evaluate(() => {
      const element = document.activeElement as HTMLInputElement | null;
      return (element?.labels?.[0]?.firstChild ?? element)?.textContent?.trim() ?? "";
    });
  const tabTo = async (name: string) => {
    // Once round the page: each who is held back or waits has five buttons.
    for (let i = 0; i < 150; ++i) {
      await page.keyboard.press("Tab");
      if ((await focused()) === name) return;
    }
    throw new Error(`the keyboard does not reach ${name}`);
  };
  await tabTo("Skip to what is shown");
  await tabTo("orders");
  await page.keyboard.press("Enter");
  await text(page, "Held back");
  await tabTo("In force");
  await page.keyboard.press("Enter");
  await text(page, "Step in");
  await tabTo("Identity");
  await page.keyboard.type("nightly:export");
  await tabTo("Reason");
  await page.keyboard.type("by keyboard");
  await tabTo("Your name");
  await page.keyboard.type("kim");
  await page.keyboard.press("Enter");
  await text(page, /In the last hour this would have hit/);
  await tabTo("Pause nightly:export on orders");
  await page.keyboard.press("Enter");
  await text(page, /is in force/, ".done");
  await tabTo("Undo");
  await page.keyboard.press("Enter");
  await text(page, /has ended/, ".done");
  await page.context().close();
});

test("a chart says what each step has, under the mouse and by the keyboard", async () => {
  const { page } = await open(browser, `${scene.server.url}/?view=who&range=15m&target=orders`);
  const box = (await page.locator(".u-over").boundingBox())!;
  await page.mouse.move(box.x + box.width - 40, box.y + 50);
  const tip = page.locator(".tip");
  await tip.getByText(/^\d\d:\d\d:\d0–\d\d:\d\d:\d0 UTC: [\d,]+ allowed, [\d,]+ denied/).waitFor();
  await page.mouse.move(0, 0);
  await tip.waitFor({ state: "hidden" });
  await page.locator(".plot").focus();
  await page.keyboard.press("Home");
  const first = await tip.innerText();
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => tip.innerText()).not.toBe(first);
  await page.context().close();
});

test("each panel says what it is for, and leads to its documentation", async () => {
  const { page } = await open(browser, `${scene.server.url}/?target=orders`);
  const held = page.locator("[aria-labelledby=held-back]");
  await held.getByRole("button", { name: "What is this?" }).click();
  await held.getByText(/half of the Checks were denied in the last 15 minutes/).waitFor();
  expect(await held.getByRole("link", { name: "More in docs/throttle-log.md" }).getAttribute("href")).toMatch(/\/docs\/throttle-log\.md$/);
  await page.context().close();
});

test("a link to the last minutes can be made one to the time itself", async () => {
  const { page } = await open(browser, `${scene.server.url}/?view=who&range=15m&target=orders`);
  await page.getByRole("button", { name: "Fix this time in the link" }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get("range")).toMatch(/^[\d-]+T[\d:.]+Z\/[\d-]+T[\d:.]+Z$/);
  await expect.poll(() => page.title()).toMatch(/^Everybody on orders, \d{4}-\d\d-\d\d \d\d:\d\d to .*UTC · Who · Headgate$/);
  await page.context().close();
});
