// The server's time. What is over, and for how long something goes on, is not for the clock of a browser to say, which
// may be wrong by minutes; nor does it say anything about a server that does not answer any more.
//
//   clock.hear(response.headers.get("Date"), sentAt, gotAt);
//   const leftMs = Date.parse(override.expires_at) - serverNow();

// `Date` is in whole seconds: the server's time was up to so much later.
const GRAIN_MS = 1000;
// A move that is larger is told to those who show times.
const TOLD_MS = 2000;

export class ServerClock {
  // What the server's time is ahead of performance.now(), which nobody sets.
  private offset: number | undefined;
  private readonly listeners = new Set<() => void>();

  // Of an answer that was asked for and came then, on performance.now()'s clock. What is known stays for as long as it
  // fits, and so it comes closer with each answer.
  hear(date: string | null, sentAt: number, gotAt: number) {
    const ms = Date.parse(date ?? "");
    if (Number.isNaN(ms)) return;
    const [least, most] = [ms - gotAt, ms + GRAIN_MS - sentAt];
    const before = this.now(gotAt);
    this.offset = Math.min(Math.max(this.offset ?? least, least), most);
    if (Math.abs(this.now(gotAt) - before) > TOLD_MS) for (const listener of this.listeners) listener();
  }
  // In milliseconds since 1970; `at` is on performance.now()'s clock. The browser's until the server has answered.
  now(at = performance.now()): number {
    return this.offset === undefined ? Date.now() - performance.now() + at : this.offset + at;
  }
  onMove(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

export const clock = new ServerClock();
export const serverNow = () => clock.now();
