import { expect, test, vi } from "vitest";
import { ServerClock } from "./clock";

const date = (ms: number) => new Date(ms).toUTCString();
const NOON = Date.parse("2026-03-01T12:00:00Z");

test("the time is the server's, however wrong the browser's is, to a second", () => {
  const clock = new ServerClock();
  clock.hear(date(NOON), 1000, 1040);
  expect(clock.now(1040)).toBe(NOON);
  expect(clock.now(61_040)).toBe(NOON + 60_000);
});

test("each answer brings it closer", () => {
  const clock = new ServerClock();
  // The server is 700 ms into its second when it is first asked.
  for (let i = 0; i < 110; ++i) clock.hear(date(NOON + Math.floor((700 + 990 * i) / 1000) * 1000), 990 * i, 990 * i + 10);
  expect(Math.abs(clock.now(0) - (NOON + 700))).toBeLessThanOrEqual(20);
});

test("a slow answer moves nothing that is known better", () => {
  const clock = new ServerClock();
  clock.hear(date(NOON), 0, 10);
  const known = clock.now(0);
  clock.hear(date(NOON), 0, 8000);
  expect(clock.now(0)).toBe(known);
});

test("a server whose clock was set is followed, and those who show times are told", () => {
  const clock = new ServerClock();
  clock.hear(date(NOON), 0, 10);
  const told = vi.fn();
  const stop = clock.onMove(told);
  clock.hear(date(NOON + 1000), 1000, 1010);
  expect(told).not.toHaveBeenCalled();
  clock.hear(date(NOON - 3_600_000), 2000, 2010);
  expect(told).toHaveBeenCalledTimes(1);
  expect(clock.now(2010)).toBeLessThan(NOON - 3_598_000);
  stop();
  clock.hear(date(NOON), 3000, 3010);
  expect(told).toHaveBeenCalledTimes(1);
});

test("until the server has said it, it is the browser's", () => {
  const clock = new ServerClock();
  clock.hear(null, 0, 10);
  clock.hear("soon", 0, 10);
  expect(Math.abs(clock.now() - Date.now())).toBeLessThan(50);
});
