// A job on a thread of its own, so that nothing else in this process is in what it measures: a Check each 3 ms
// for as long as it is told, then the latencies in microseconds.
import http from "node:http";
import { parentPort } from "node:worker_threads";

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const body = JSON.stringify({ identity: "job-7:etl", estimated_cost: 1 });

function check(port) {
  return new Promise((resolve, reject) => {
    const began = process.hrtime.bigint();
    const request = http.request(
      { port, host: "127.0.0.1", path: "/v1/check", method: "POST", agent, headers: { "Content-Type": "application/json" } },
      (response) => response.resume().on("end", () => resolve(Number(process.hrtime.bigint() - began) / 1000)),
    );
    request.on("error", reject).end(body);
  });
}

parentPort.on("message", async ({ port, ms }) => {
  const times = [];
  const end = Date.now() + ms;
  while (Date.now() < end) {
    times.push(await check(port));
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  parentPort.postMessage(times.sort((a, b) => a - b));
});
