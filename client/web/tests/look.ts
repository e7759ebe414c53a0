// The browser of the tests: Debian's Chromium, what it says on its console, and pictures of what it shows.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import AxeBuilder from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

export const SHOTS = process.env["HEADGATE_SHOTS"] ?? join(import.meta.dirname, "../../../build/web/shots");

export async function openBrowser(): Promise<Browser> {
  mkdirSync(SHOTS, { recursive: true });
  return chromium.launch({
    executablePath: process.env["HEADGATE_CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    timeout: 120_000,
  });
}

export interface Look {
  page: Page;
  // What a page that is in order says nothing of: exceptions, and what its policy forbids.
  faults: string[];
  // Whom it called.
  hosts: Set<string>;
}

export async function open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Look> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const look: Look = { page, faults: [], hosts: new Set() };
  page.on("pageerror", (error) => look.faults.push(String(error)));
  page.on("console", (message) => {
    // That a request has failed is said by the browser; what follows of it, by the page.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) look.faults.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith("data:")) look.hosts.add(new URL(request.url()).host);
  });
  await page.goto(url);
  return look;
}

// The whole page, as an image that whoever changes the page looks at.
export async function shoot(page: Page, name: string) {
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true, animations: "disabled", timeout: 60_000 });
}

// What axe-core finds that is serious or worse: "rule: element" each. The Content-Security-Policy lets no script in, so
// it comes by the driver, which is not bound by it.
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(AxeBuilder.source);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof AxeBuilder };
    const { violations } = await axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] });
    return violations
      .filter((found) => found.impact === "serious" || found.impact === "critical")
      .flatMap((found) => found.nodes.map((node) => `${found.id}: ${node.target.join(" ")} ${node.failureSummary}`));
  });
}

// Nothing is wider than the window.
export const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
