// The picture of the page in the README, into the file that HEADGATE_PICTURE names.
import { test } from "vitest";
import { open, openBrowser } from "./look";
import { Scene } from "./scene";

test("the picture of the page", async () => {
  const scene = new Scene();
  const [browser] = await Promise.all([openBrowser(), scene.start()]);
  scene.wait(["monthly:export", "yearly:export", "ad-hoc:urgent:export", "quarterly:export"]);
  const { page } = await open(browser, `${scene.server.url}/?target=orders`, { viewport: { width: 1200, height: 940 }, deviceScaleFactor: 1 });
  await page.getByText(/now, for [1-9]\d s/).first().waitFor();
  await page.screenshot({ path: process.env["HEADGATE_PICTURE"]!, animations: "disabled" });
  await browser.close();
  await scene.stop();
});
