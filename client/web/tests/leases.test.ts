// Who holds leases: on Now, beside who waits for one, under Who, and in Explain.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Headgated, until } from "./headgated";
import { open, openBrowser, overflow, seriousFaults, shoot } from "./look";

const server = new Headgated(`
targets: [{name: orders}]
budgets:
  - {name: copies, rate: 1000, burst: 100000}
  - {name: others, rate: 1000, burst: 100000}
  - {name: slow, rate: 0.01, burst: 10}
rules:
  - {name: copies, match: {identity: copy}, charge: [copies]}
  - {name: late, match: {identity: late}, charge: [slow]}
  - {name: others, match: {identity: etl}, charge: [others]}
`);
let browser: Browser;

interface Decision {
  verdict?: string;
  permit_id?: string;
}
async function lease(identity: string, amount: number, terms: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const answer = await server.check(identity, amount, { lease: { least: 1, ...terms }, ...more });
  return (answer["decision"] ?? {}) as Decision;
}

// Holds one lease after the other, each until it has the next, as a holder does that spends all of it.
class Holder {
  private running = true;
  held: Decision | undefined;
  private readonly ended: Promise<void>;
  constructor(identity: string, amount: number) {
    this.ended = this.run(identity, amount);
  }
  private async run(identity: string, amount: number) {
    while (this.running) {
      const returned = this.held?.permit_id && { permit_id: this.held.permit_id, lease_use: { spent: amount, pieces: "1" } };
      this.held = await lease(identity, amount, { time: "10s", ...(returned && { returned }) });
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
  async stop() {
    this.running = false;
    await this.ended;
  }
}

let holders: Holder[] = [];
let waits: Promise<unknown>;

beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), server.start()]);
  holders = [new Holder("shard-7:orders:copy", 600), new Holder("shard-7:orders:copy", 250), new Holder("nightly:etl", 75)];
  await until("each holds one", () => holders.every(({ held }) => held?.verdict === "VERDICT_ALLOWED"));
  // It dies with its lease.
  await lease("crashed:etl", 40, { time: "0.1s" });
  await server.check("shard-8:late", 10);
  waits = lease("shard-8:late", 10, {}, { max_wait: "600s" }).catch(() => undefined); // the server ends before
});
afterAll(async () => {
  await browser.close();
  await Promise.all(holders.map((holder) => holder.stop()));
  await server.remove();
  await waits;
});

async function card(page: Page) {
  const shown = page.locator("section", { has: page.locator("#leases") });
  await shown.waitFor();
  return shown;
}

test("the target says who holds how much until when, and who waits for one", async () => {
  const { page, faults } = await open(browser, server.url);
  const leases = await card(page);
  await leases.getByText("shard-7:orders:copy").waitFor();
  await leases.getByText("2 leases of 850").waitFor();
  await leases.getByText(/ends in [\d.]+ s/).first().waitFor();
  await leases.getByText(/charged 850 to copies/).waitFor();
  await leases.getByText("1 overdue").last().waitFor();
  await page.getByText("shard-8:late").first().waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  expect(await overflow(page)).toBe(0);
  await shoot(page, "leases-light-wide");
  expect(faults).toEqual([]);
  await page.context().close();
});

test("on a telephone, in the dark, nothing is wider than the window", async () => {
  const { page, faults } = await open(browser, server.url, { viewport: { width: 390, height: 844 }, colorScheme: "dark" });
  const leases = await card(page);
  await leases.getByText("2 leases of 850").waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  expect(await overflow(page)).toBe(0);
  await shoot(page, "leases-dark-narrow");
  expect(faults).toEqual([]);
  await page.context().close();
});

test("an identity's view has each of its leases, and Explain their sum", async () => {
  const { page, faults } = await open(browser, `${server.url}/?view=who&identity=orders%3Acopy&target=orders`);
  const leases = await card(page);
  await leases.getByText("2 leases of 850").waitFor();
  await leases.getByText(/granted [\d.]+ m?s ago · ends in [\d.]+ s/).first().waitFor();
  expect(await leases.getByText("nightly:etl").count()).toBe(0);
  await shoot(page, "leases-of-one-light-wide");
  await page.goto(`${server.url}/?view=who&identity=crashed%3Aetl&target=orders`);
  await leases.getByText(/overdue for/).waitFor();
  await page.goto(`${server.url}/?view=explain&identity=shard-7%3Aorders%3Acopy&target=orders`);
  await page.getByText(/It holds 2 leases of 850, charged in advance; the last ends in [\d.]+ s\./).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await shoot(page, "leases-explained-light-wide");
  expect(faults).toEqual([]);
  await page.context().close();
});
