// All that is on the screen is asked for together, in one request: once a second, or less often where an answer takes
// long, so that a page takes a tenth of one thread's time, and more only where it would have to wait for longer than
// 5 s. What is slow is asked for by itself, and holds nothing else up. Nothing is asked while nobody can see it.
import { Api, ApiError, MOST_QUESTIONS, type Method, type Question } from "../api/client";

// What is due so much later goes along with what is due now, so that all of it falls into one rhythm.
const EARLY_MS = 500;
// However long an answer took, it is asked for again after so long.
const LONGEST_PAUSE_MS = 5000;
// What took longer does not go along with anything else.
const SLOW_MS = 1000;

// How long until the next try.
export function pauseAfter(everyMs: number, tookMs: number, failures: number, retryAfterMs = 0): number {
  if (failures > 0) return Math.max(retryAfterMs, Math.min(1000 * 2 ** (failures - 1), 5000));
  return Math.max(everyMs - tookMs, Math.min(9 * tookMs, LONGEST_PAUSE_MS));
}

export type Outcome = ApiError | { data: unknown };

// One question that is asked again and again.
export class Poll implements Question {
  dueAt = 0; // on performance.now()'s clock
  failures = 0; // in a row
  isSlow = false;
  asked: AbortController | undefined; // its answer is under way
  constructor(
    readonly method: Method,
    readonly request: unknown,
    readonly everyMs: number,
    readonly tell: (outcome: Outcome) => void,
  ) {}
  // What has failed is not asked for earlier than it said.
  isDue(at: number) {
    return this.dueAt <= at + (this.failures > 0 ? 0 : Math.min(EARLY_MS, this.everyMs / 2));
  }
  settle(outcome: Outcome, now: number, tookMs: number) {
    const failed = outcome instanceof ApiError;
    this.failures = failed ? this.failures + 1 : 0;
    this.isSlow = tookMs > SLOW_MS;
    this.dueAt = now + pauseAfter(this.everyMs, tookMs, this.failures, failed ? outcome.retryAfterMs : 0);
  }
}

export class Rounds {
  private readonly polls = new Set<Poll>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly api: Pick<Api, "readAll">) {
    globalThis.document?.addEventListener("visibilitychange", () => this.askAgain());
  }
  add(poll: Poll) {
    this.polls.add(poll);
    this.plan();
  }
  // A request that nobody waits for any more is given up.
  delete(poll: Poll) {
    this.polls.delete(poll);
    const { asked } = poll;
    if (asked && ![...this.polls].some((other) => other.asked === asked)) asked.abort();
  }
  // Everything, now: a token was given, or something was changed, or the page is looked at again.
  askAgain() {
    for (const poll of this.polls) poll.dueAt = poll.failures = 0;
    this.plan();
  }

  // What is being answered is not asked for a second time; nothing else waits for it.
  private plan() {
    clearTimeout(this.timer);
    const waiting = [...this.polls].filter((poll) => !poll.asked);
    if (waiting.length === 0 || globalThis.document?.hidden) return;
    const next = Math.min(...waiting.map((poll) => poll.dueAt));
    this.timer = setTimeout(() => void this.ask(), Math.max(0, next - performance.now()));
  }

  private async ask() {
    const began = performance.now();
    const all = [...this.polls].filter((poll) => !poll.asked && poll.isDue(began));
    const quick = all.filter((poll) => !poll.isSlow);
    const due = quick.length > 0 ? quick.slice(0, MOST_QUESTIONS) : all.slice(0, 1);
    if (due.length === 0) return this.plan();
    const asked = new AbortController();
    for (const poll of due) poll.asked = asked;
    this.plan();
    const outcomes = await this.outcomesOf(due, asked.signal);
    const now = performance.now();
    due.forEach((poll, i) => {
      poll.asked = undefined;
      if (!this.polls.has(poll)) return;
      poll.settle(outcomes[i]!, now, now - began);
      poll.tell(outcomes[i]!);
    });
    this.plan();
  }

  private async outcomesOf(due: readonly Poll[], signal: AbortSignal): Promise<readonly Outcome[]> {
    try {
      return await this.api.readAll(due, { signal });
    } catch (thrown) {
      const error = thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown));
      return due.map(() => error);
    }
  }
}
