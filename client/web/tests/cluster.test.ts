// Several servers: the page of any of them shows who decides for what, and who does not answer.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BIN, freePort, Headgated, makeCertificates, until } from "./headgated";
import { open, openBrowser, overflow, seriousFaults, shoot } from "./look";

const DSN = `host=${process.env["PGHOST"]} user=postgres dbname=page_store`;
const TARGETS = ["audit", "billing", "catalog", "orders", "search", "users"];
const MEMBERS = ["headgate-0", "headgate-1"];

const files = new Headgated("", [], "https");
const servers: Headgated[] = [];
let browser: Browser;

beforeAll(async () => {
  makeCertificates(files.folder);
  files.write("secret", randomBytes(32).toString("hex"));
  execFileSync("psql", ["-qX", "-h", process.env["PGHOST"]!, "-U", "postgres", "-d", "postgres", "-c", "CREATE DATABASE page_store"]);
  execFileSync(join(BIN, "headgate"), ["store", "init"], { env: { ...process.env, HEADGATE_STORE_DSN: DSN } });
  const config = `
cluster: {store: {dsn: "${DSN}"}, secret_file: ${files.path("secret")}, peer_certificates: ["DNS:localhost"]}
tls: {certificate_file: ${files.path("server.crt")}, key_file: ${files.path("server.key")}, client_ca_file: ${files.path("ca.crt")}, client_certificates: OPTIONAL}
targets: [${TARGETS.map((name) => `{name: ${name}}`).join(", ")}]
budgets: [{name: rows, rate: 10, burst: 10}]
rules: [{name: all, charge: [rows]}]
`;
  for (const name of MEMBERS) {
    const address = `127.0.0.1:${await freePort()}`;
    servers.push(new Headgated(config, ["--member", name, "--member-address", address], "https", address));
  }
  [browser] = await Promise.all([openBrowser(), ...servers.map((server) => server.start())]);
});
afterAll(async () => {
  await browser.close();
  await Promise.all([...servers, files].map((server) => server.remove()));
});

test("who decides for what, and who has gone", async () => {
  const { page, faults } = await open(browser, `${servers[0]!.url}/?sort=owner`, { ignoreHTTPSErrors: true });
  const card = page.locator("section", { has: page.getByRole("heading", { name: "Headgate's servers" }) });
  const owners = () => page.locator("table tbody tr td:last-child").allInnerTexts();
  await until("both decide for something", async () => {
    const names = await owners();
    return names.length === TARGETS.length && MEMBERS.every((member) => names.includes(member));
  });
  expect(await card.getByText("here", { exact: true }).count()).toBe(MEMBERS.length);
  expect(await seriousFaults(page)).toEqual([]);
  await shoot(page, "cluster-light");

  await page.getByRole("link", { name: "orders" }).click();
  await page.getByText(/Server headgate-. decides for it/).waitFor();
  await page.getByText("by the log of headgate-0 alone").waitFor();
  await page.setViewportSize({ width: 360, height: 800 });
  expect(await overflow(page)).toBe(0);
  await shoot(page, "cluster-360");

  await servers[1]!.stop();
  await page.getByText("Server headgate-0 decides for it.").waitFor();
  await page.getByRole("button", { name: "All targets" }).click();
  await until("the other has them all", async () => (await owners()).every((owner) => owner === MEMBERS[0]));
  await until("it has left", async () => (await card.getByRole("listitem").count()) === 1);
  expect(faults).toEqual([]);
});
