// What 50 open pages cost the server, and whether a job's Checks notice: windows with and without them take turns. The
// pages are what those in browsers send, each on a connection of its own; browsers would take the machine's time.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { periodOf } from "../src/state/url";
import { Scene } from "./scene";

const PAGES = 50;
const WINDOW_MS = 6000;
const ROUNDS = 3;
const TICKS = Number(execFileSync("getconf", ["CLK_TCK"]).toString());

// What a page asks once a second on Now with one target, all of which is on the screen.
const NOW = (): [string, unknown][] => [
  ["get_status", { target: "orders" }],
  ["list_throttled_intervals", { filter: { target: "orders", ...periodOf("15m", Date.now()) }, page_size: 100 }],
  ["list_budgets", { target: "orders", page_size: 200 }],
  ["list_buckets", { target: "orders", page_size: 12 }],
];

class OpenPage {
  private readonly agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  private readonly timer: NodeJS.Timeout;
  constructor(
    private readonly port: number,
    startMs: number,
  ) {
    this.timer = setTimeout(() => this.look(), startMs);
  }
  private readonly looks: NodeJS.Timeout[] = [];
  private look() {
    this.looks.push(setInterval(() => NOW().forEach(([method, request]) => this.call(method, request)), 1000));
  }
  private call(method: string, request: unknown) {
    const headers = { "Content-Type": "application/json", Origin: `http://127.0.0.1:${this.port}` };
    http
      .request({ host: "127.0.0.1", port: this.port, path: `/v1/${method}`, method: "POST", agent: this.agent, headers }, (response) => response.resume())
      .on("error", () => {})
      .end(JSON.stringify(request));
  }
  close() {
    clearTimeout(this.timer);
    this.looks.forEach(clearInterval);
    this.agent.destroy();
  }
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

test("50 open pages", async () => {
  const scene = new Scene();
  await scene.start();
  scene.wait(["monthly:export", "yearly:export"]);
  const { port, pid } = scene.server;
  const worker = new Worker(join(import.meta.dirname, "checker.mjs"));
  const measure = async () => {
    const before = cpuSeconds(pid);
    const times = await new Promise<number[]>((resolve) => {
      worker.once("message", resolve);
      worker.postMessage({ port, ms: WINDOW_MS });
    });
    return { cpu: (100 * 1000 * (cpuSeconds(pid) - before)) / WINDOW_MS, p99: times[Math.floor(times.length * 0.99)]! };
  };
  const differences: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; ++round) {
    const without = await measure();
    const pages = Array.from({ length: PAGES }, (_, i) => new OpenPage(port, i * (1000 / PAGES)));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const beside = await measure();
    pages.forEach((page) => page.close());
    differences.push(beside.cpu - without.cpu);
    ratios.push(beside.p99 / without.p99);
    console.log(`round ${round}: CPU ${without.cpu.toFixed(2)} % and ${beside.cpu.toFixed(2)} %, p99 ${without.p99.toFixed(0)} and ${beside.p99.toFixed(0)} us`);
  }
  await worker.terminate();
  await scene.stop();
  console.log(`pages=${PAGES} cpu_percent_of_a_core=${median(differences).toFixed(2)} (goal 1) check_p99_ratio=${median(ratios).toFixed(2)} (goal 1)`);
  expect(differences.length).toBe(ROUNDS);
});
