// What 50 open pages cost the server, and whether a job's Checks notice: short turns in which the pages look at this
// server, and at another one that is like it, so that what they take of the machine is in both. They are what pages in
// browsers send, each on a connection of its own and with a browser's headers; browsers would take the machine's time.
import { readFileSync, readdirSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { periodOf } from "../src/state/url";
import { Headgated } from "./headgated";
import { Scene, SCENE } from "./scene";

const PAGES = 50;
const TURN_MS = 2000;
const TURNS = 40; // of each kind

// What a page asks once a second on Now with one target, all of which is on the screen.
const NOW = () => [
  { get_status: { target: "orders" } },
  { list_throttled_intervals: { filter: { target: "orders", ...periodOf("15m", Date.now()) }, newest_first: true, page_size: 100 } },
  { list_budgets: { target: "orders", page_size: 200 } },
  { list_buckets: { target: "orders", page_size: 12 } },
];

const BROWSER = {
  "Content-Type": "application/json",
  "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
  "sec-ch-ua": '"Chromium";v="140", "Not=A?Brand";v="24"',
  "sec-ch-ua-platform": '"Linux"',
  "sec-ch-ua-mobile": "?0",
  Accept: "*/*",
  "Accept-Encoding": "gzip, deflate, br, zstd",
  "Accept-Language": "en-US,en;q=0.9",
  "Sec-Fetch-Site": "same-origin",
  "Sec-Fetch-Mode": "cors",
  "Sec-Fetch-Dest": "empty",
};

class OpenPage {
  private readonly agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  private timer: NodeJS.Timeout;
  answered = 0;
  constructor(
    private readonly port: () => number,
    startMs: number,
  ) {
    this.timer = setTimeout(() => (this.timer = setInterval(() => this.look(), 1000)), startMs);
  }
  private look() {
    const port = this.port();
    const origin = `http://127.0.0.1:${port}`;
    const headers = { ...BROWSER, Origin: origin, Referer: `${origin}/?target=orders` };
    http
      .request({ host: "127.0.0.1", port, path: "/v1/batch_read", method: "POST", agent: this.agent, headers }, (response) => {
        response.resume();
        this.answered += Number(response.statusCode === 200);
      })
      .on("error", () => {})
      .end(JSON.stringify({ calls: NOW() }));
  }
  close() {
    clearInterval(this.timer);
    this.agent.destroy();
  }
}

// As the scheduler counted it, of all threads.
function cpuMs(pid: number): number {
  const nanos = readdirSync(`/proc/${pid}/task`).map((thread) => {
    try {
      return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
    } catch {
      return 0; // it has ended
    }
  });
  return nanos.reduce((sum, value) => sum + value, 0) / 1e6;
}

interface Turn {
  cpu: number; // per cent of a core
  times: number[]; // of Checks, in microseconds
}
interface Pair {
  without: Turn;
  beside: Turn;
}

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const cpuOf = (pairs: Pair[]) => mean(pairs.map(({ without, beside }) => beside.cpu - without.cpu));
const p99 = ({ times }: Turn) => [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!;
// In the pair in the middle, so that a turn in which the machine did something else does not count.
const p99Ratio = (pairs: Pair[]) => {
  const ratios = pairs.map(({ without, beside }) => p99(beside) / p99(without)).sort((a, b) => a - b);
  return ratios[Math.floor(ratios.length / 2)]!;
};

// The figure, and between what it is in 95 of 100 draws of as many pairs from these.
function withRange(pairs: Pair[], figure: (pairs: Pair[]) => number): string {
  const draws = Array.from({ length: 400 }, () => figure(pairs.map(() => pairs[Math.floor(Math.random() * pairs.length)]!)));
  draws.sort((a, b) => a - b);
  return `${figure(pairs).toFixed(2)} (${draws[10]!.toFixed(2)} to ${draws[389]!.toFixed(2)})`;
}

async function measure(scene: Scene, other: Headgated): Promise<Pair[]> {
  const { port, pid } = scene.server;
  const worker = new Worker(join(import.meta.dirname, "checker.mjs"));
  let lookedAt = other.port;
  const pages = Array.from({ length: PAGES }, (_, page) => new OpenPage(() => lookedAt, page * (1000 / PAGES)));
  const turn = async (at: number): Promise<Turn> => {
    lookedAt = at;
    await new Promise((resolve) => setTimeout(resolve, 300));
    const before = cpuMs(pid);
    const times = await new Promise<number[]>((resolve) => {
      worker.once("message", resolve);
      worker.postMessage({ port, ms: TURN_MS });
    });
    return { cpu: (100 * (cpuMs(pid) - before)) / TURN_MS, times };
  };
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const pairs: Pair[] = [];
  for (let i = 0; i < TURNS; ++i) pairs.push({ without: await turn(other.port), beside: await turn(port) });
  for (const page of pages) {
    expect(page.answered).toBeGreaterThan((2 * TURNS * TURN_MS) / 1000);
    page.close();
  }
  await worker.terminate();
  return pairs;
}

test("50 open pages", async () => {
  const scene = new Scene();
  const other = new Headgated(SCENE);
  await Promise.all([scene.start(), other.start()]);
  scene.wait(["monthly:export", "yearly:export"]);
  const pairs = await measure(scene, other);
  await Promise.all([scene.stop(), other.remove()]);
  console.log(`pages=${PAGES} turns=${TURNS} cpu_percent_of_a_core=${withRange(pairs, cpuOf)} (goal 1) check_p99_ratio=${withRange(pairs, p99Ratio)} (goal 1)`);
});
