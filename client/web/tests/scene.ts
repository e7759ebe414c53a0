// A server with something to see: two targets of one real PostgreSQL, jobs that are held back and wait, overrides.
import { Headgated } from "./headgated";
import { Job } from "./job";

const DSN = `host=${process.env["PGHOST"]} user=postgres dbname=postgres`;

export const SCENE = `
targets:
  - {name: orders, default_health: database, primary: {dsn: "${DSN}"}, polling: {interval: 200ms}}
  - {name: billing, default_health: busy, primary: {dsn: "${DSN}"}, polling: {interval: 200ms}}
health_profiles:
  - name: database
    stale_after: 30s
    signals:
      - {name: active_backends, soft: 60, hard: 90}
      - {name: connection_fraction, soft: 0.8, hard: 0.95}
      - {name: oldest_transaction_seconds, soft: 300, hard: 900}
      - {name: queue_depth, soft: 100, hard: 400, sql: "SELECT 40 + 10 * sin(extract(epoch FROM now()) / 20)"}
  - name: busy
    stale_after: 30s
    signals:
      - {name: outbox_rows, soft: 100, hard: 400, sql: "SELECT 220"}
      - {name: active_backends, soft: 60, hard: 90}
budgets:
  - {name: backfills, rate: 400, burst: 4000}
  - {name: per-job, rate: 60, burst: 300, split: {depth: 2}}
  - {name: exports, rate: 1, burst: 100, max_concurrency: 4}
  - {name: reports, rate: 1000, burst: 2000, mode: WARN}
rules:
  - {name: backfills, match: {identity: backfill}, charge: [backfills, per-job]}
  - {name: exports, match: {identity: export}, charge: [exports]}
  - {name: reports, match: {identity: report}, charge: [reports]}
  - {name: urgent first, match: {segment: urgent}, priority: 10}
throttle_log: {step: 1s, coarse_step: 10s}
`;

export class Scene {
  readonly server: Headgated;
  private jobs: Job[] = [];
  constructor(flags: readonly string[] = ["--page", "changes"]) {
    this.server = new Headgated(SCENE, flags);
  }

  async start() {
    await this.server.start();
    const job = (identity: string, target: string, cost: number, pauseMs: number) => this.jobs.push(new Job(this.server, identity, { target, cost, pauseMs }));
    job("orders-1:copy:backfill", "orders", 20, 120);
    job("orders-2:copy:backfill", "orders", 20, 200);
    job("invoices:verify:backfill", "orders", 4, 150);
    job("nightly:export", "orders", 30, 250);
    job("ledger:urgent:backfill", "billing", 15, 200);
    job("weekly:report", "billing", 5, 300);
  }
  // Those who wait in line, without an end of their own.
  wait(identities: readonly string[]) {
    for (const identity of identities) {
      void this.server.check(identity, 90, { target: "orders", max_wait: "600s" }).catch(() => {});
    }
  }
  async stop() {
    await Promise.all(this.jobs.map((job) => job.stop()));
    await this.server.remove();
  }
}
