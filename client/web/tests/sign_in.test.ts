// Who looks at the page is who the access policy says: by a token that is typed in, or by a certificate.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Headgated, makeCertificates } from "./headgated";
import { open, openBrowser, seriousFaults, shoot } from "./look";

const ALL = 'identities: ["*"], overrides: true, exempt_overrides: true, everything: true, logs: true, status: true';
const CONFIG = `
tls: {certificate_file: server.crt, key_file: server.key, client_ca_file: ca.crt, client_certificates: OPTIONAL}
access:
  token_file: tokens
  callers:
    - {name: sre, token: sre, ${ALL}}
    - {name: onlooker, token: onlooker, status: true}
    - {name: by-certificate, certificate: "URI:spiffe://test/sre", ${ALL}}
budgets: [{name: rows, rate: 10, burst: 10}]
rules: [{name: all, charge: [rows]}]
`;
const tokens = (sre: string) => {
  const line = (name: string, token: string) => `${name} sha256:${createHash("sha256").update(token).digest("hex")}\n`;
  return line("sre", sre) + line("onlooker", ONLOOKER);
};
const [SRE, ONLOOKER, NEXT] = ["the-first-token-of-sre-0123456789", "the-token-of-onlooker-0123456789", "the-second-token-of-sre-0123456789"];

let browser: Browser;
let server: Headgated;

beforeAll(async () => {
  const probe = new Headgated("", [], "https");
  const at = (name: string) => probe.path(name);
  const config = CONFIG.replace(/(server\.crt|server\.key|ca\.crt|file: tokens)/g, (name) =>
    name.startsWith("file: ") ? `file: ${at("tokens")}` : at(name),
  );
  server = probe;
  makeCertificates(server.folder);
  server.write("headgate.yaml", config);
  server.write("tokens", tokens(SRE));
  [browser] = await Promise.all([openBrowser(), server.start()]);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

const look = (query = "", options = {}) => open(browser, `${server.url}/${query}`, { ignoreHTTPSErrors: true, ...options });
async function signIn(page: Page, token: string) {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("nobody sees anything before signing in, and a wrong token is refused in words", async () => {
  const { page, faults } = await look();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await shoot(page, "sign-in");
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByLabel("Token").fill("а-token-with-a-letter-of-another-script");
  expect(await page.getByLabel("Token").evaluate((input: HTMLInputElement) => input.validationMessage)).toMatch(/none of these characters/);
  await signIn(page, "not-a-token-of-anybody-0123456789");
  await page.getByRole("alert").getByText(/token/).waitFor();
  expect(await page.getByRole("heading", { name: "Budgets" }).count()).toBe(0);
  await signIn(page, SRE);
  await page.getByRole("heading", { name: "Budgets" }).waitFor();
  expect(await page.evaluate(() => [sessionStorage.length, localStorage.length, document.cookie])).toEqual([0, 0, ""]);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  expect(faults).toEqual([]);
  await page.context().close();
});

test("who may see a part sees that, and is told what else there is and whose leave it takes", async () => {
  const { page } = await look("?view=who");
  await signIn(page, ONLOOKER);
  await page.getByText(/onlooker may not see this: logs: true is not granted/).first().waitFor();
  await shoot(page, "not-granted");
  await page.getByRole("link", { name: "Now" }).click();
  await page.getByRole("heading", { name: "Budgets" }).waitFor();
  await page.getByRole("link", { name: "In force" }).click();
  // What its caller may not do is not offered, and why is said.
  await page.getByText(/You are granted no overrides of identities/).waitFor();
  expect(await page.getByRole("button", { name: /^(Preview|Pause|Undo)/ }).count()).toBe(0);
  await page.context().close();
});

test("a caller that is granted it steps in under its own name", async () => {
  const { page } = await look("?view=force");
  await signIn(page, SRE);
  await page.getByRole("heading", { name: "Step in" }).waitFor();
  expect(await page.getByLabel("Your name").count()).toBe(0);
  await page.getByLabel("Identity", { exact: true }).fill("etl");
  await page.getByLabel("Reason").fill("a good reason");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByLabel(/I mean it/).check(); // nobody has asked under this name
  await page.getByRole("button", { name: "Pause etl" }).click();
  await page.locator("section", { hasText: "Overrides in force" }).getByText(/by sre/).waitFor();
  await page.context().close();
});

test("a token that is replaced meanwhile is asked for again, and the page goes on with the next, and what was typed", async () => {
  const { page } = await look();
  await signIn(page, SRE);
  await page.getByRole("heading", { name: "Budgets" }).waitFor();
  server.write("tokens", tokens(NEXT));
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await signIn(page, NEXT);
  await page.getByRole("heading", { name: "Budgets" }).waitFor();
  await page.getByRole("link", { name: "What if" }).click();
  await page.getByLabel("The changed headgate.yaml").fill("budgets: []");
  server.write("tokens", tokens(SRE));
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await signIn(page, SRE);
  expect(await page.getByLabel("The changed headgate.yaml").inputValue()).toBe("budgets: []");
  await page.context().close();
});

test("a certificate that is listed needs no token", async () => {
  const own = { origin: server.url, cert: readFileSync(server.path("caller.crt")), key: readFileSync(server.path("caller.key")) };
  const { page } = await look("?view=force", { clientCertificates: [own] });
  await page.getByRole("heading", { name: "Step in" }).waitFor();
  expect(await page.getByText("Sign in").count()).toBe(0);
  await page.context().close();
});

test("in plaintext there is no page where there is TLS", async () => {
  const response = await fetch(`http://127.0.0.1:${server.port}/`);
  expect(response.status).toBe(403);
});
