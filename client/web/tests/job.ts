// A job: it asks, works in the database, reports, and asks again; and it waits when it is told to.
import { type ChildProcess, spawn } from "node:child_process";
import type { Headgated } from "./headgated";

export class Job {
  readonly counts = { done: 0, denied: 0 };
  private running = true;
  private readonly ended: Promise<void>;
  private readonly database: ChildProcess;

  constructor(
    private readonly server: Headgated,
    readonly identity: string,
    private readonly options: { cost: number; pauseMs: number; target?: string; sql?: string },
  ) {
    this.database = spawn("psql", ["--quiet", "--no-psqlrc", "--tuples-only"], { stdio: ["pipe", "pipe", "inherit"] });
    this.ended = this.run();
  }

  private async run() {
    while (this.running) {
      try {
        await this.chunk();
      } catch {
        // The server is being restarted.
      }
      await new Promise((resolve) => setTimeout(resolve, this.options.pauseMs));
    }
  }

  private async chunk() {
    const { cost, target } = this.options;
    const answer = await this.server.check(this.identity, cost, target ? { target } : {});
    const decision = answer["decision"] as { verdict?: string; permit_id?: string } | undefined;
    if (decision?.verdict !== "VERDICT_ALLOWED") {
      ++this.counts.denied;
      return;
    }
    const done = new Promise((resolve) => this.database.stdout!.once("data", resolve));
    this.database.stdin!.write(`${this.options.sql ?? "SELECT count(*) FROM pg_class"};\n`);
    await done;
    ++this.counts.done;
    if (decision.permit_id) await this.server.call("report", { reports: [{ permit_id: decision.permit_id, actual_cost: cost }] });
  }

  async stop() {
    this.running = false;
    await this.ended;
    this.database.stdin!.end();
  }
}
