// A real headgated for tests: with a configuration, on free ports, stopped at the end.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const BIN = process.env["HEADGATE_BIN"] ?? join(import.meta.dirname, "../../../build/release/bin");

// Until it is true, for as long as a busy machine may take.
export async function until(what: string, is: () => unknown | Promise<unknown>, limitMs = 60_000): Promise<void> {
  const end = Date.now() + limitMs;
  while (!(await is())) {
    if (Date.now() > end) throw new Error(`${what}: not within ${limitMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export class Headgated {
  readonly folder = mkdtempSync(join(tmpdir(), "headgate-page-"));
  port = 0;
  private process: ChildProcess | undefined;
  private log = "";

  constructor(
    private readonly config: string,
    private readonly flags: readonly string[] = [],
    readonly scheme: "http" | "https" = "http",
    private readonly grpcAddress = "127.0.0.1:0",
  ) {
    this.write("headgate.yaml", config);
  }

  path(name: string) {
    return join(this.folder, name);
  }
  write(name: string, text: string) {
    writeFileSync(this.path(name), text);
  }
  get url() {
    return `${this.scheme}://127.0.0.1:${this.port}`;
  }
  get pid() {
    return this.process!.pid!;
  }

  // The second time on the port of the first.
  async start(): Promise<this> {
    rmSync(this.path("port"), { force: true });
    const child = spawn(
      join(BIN, "headgated"),
      [
        ...["--config", this.path("headgate.yaml"), "--state-dir", this.folder, "--grpc-address", this.grpcAddress],
        ...["--http-address", `127.0.0.1:${this.port}`, "--http-port-file", this.path("port"), ...this.flags],
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    this.process = child;
    child.stderr!.on("data", (text: Buffer) => (this.log += text.toString()));
    await until(`headgated listens with ${this.config.slice(0, 200)}`, () => {
      if (child.exitCode !== null) throw new Error(`headgated has ended: ${this.log}`);
      return existsSync(this.path("port"));
    });
    this.port = Number(readFileSync(this.path("port"), "utf8"));
    // Any answer of the API's own, a refusal too; over TLS whoever connects has to trust it first.
    await until("the API is there", async () => {
      if (child.exitCode !== null) throw new Error(`headgated has ended: ${this.log}`);
      if (this.scheme === "https") return this.log.includes("serving");
      const status: Record<string, unknown> = await this.call("get_status", {}).catch(() => ({}));
      return status["version"] !== undefined;
    });
    return this;
  }

  async stop() {
    const child = this.process;
    this.process = undefined;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  }
  async remove() {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  // As any program calls it.
  async call(method: string, request: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.url}/v1/${method}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(request),
    });
    return (await response.json()) as Record<string, unknown>;
  }
  check(identity: string, cost = 1, more: Record<string, unknown> = {}) {
    return this.call("check", { identity, estimated_cost: cost, ...more });
  }
}

// One that nobody listens on just now, below those that the kernel gives to whoever connects: one of these could be taken
// again at once.
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await new Promise((resolve) => {
      server.once("listening", () => resolve(true));
      server.once("error", () => resolve(false));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

// A certificate authority, a server's certificate, and one of a caller, in a folder.
export function makeCertificates(folder: string) {
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl("req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test authority", "-days", "2");
  for (const [name, san] of [
    ["server", "IP:127.0.0.1,DNS:localhost"],
    ["caller", "URI:spiffe://test/sre"],
  ] as const) {
    openssl("req", ...key, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
    writeFileSync(join(folder, "san"), `subjectAltName=${san}`);
    openssl(
      ...["x509", "-req", "-in", `${name}.csr`, "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"],
      ...["-out", `${name}.crt`, "-days", "2", "-extfile", "san"],
    );
  }
}
