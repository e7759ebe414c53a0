import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError, type Question } from "../api/client";
import { type Outcome, pauseAfter, Poll, Rounds } from "./rounds";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

// What was asked, each request with its methods, and what it is answered after some milliseconds.
function server(answer: (question: Question) => Outcome = () => ({ data: 1 }), tookMs = 10) {
  const asked: { at: number; methods: string[]; signal: AbortSignal }[] = [];
  const readAll = async (questions: readonly Question[], { signal }: { signal?: AbortSignal } = {}) => {
    asked.push({ at: Math.round(performance.now()), methods: questions.map((q) => q.method), signal: signal! });
    await new Promise((resolve) => setTimeout(resolve, tookMs));
    return questions.map(answer);
  };
  return { asked, rounds: new Rounds({ readAll }) };
}
const poll = (method: Question["method"], everyMs = 1000, tell: (outcome: Outcome) => void = () => {}) => new Poll(method, {}, everyMs, tell);

test("polls are a second apart, further where answers take long, and back off while they fail", () => {
  expect(pauseAfter(1000, 20, 0)).toBe(980);
  expect(pauseAfter(1000, 300, 0)).toBe(2700);
  expect([600, 7000, 60_000].map((tookMs) => pauseAfter(1000, tookMs, 0))).toEqual([5000, 5000, 5000]);
  expect(pauseAfter(10_000, 2000, 0)).toBe(8000);
  expect([1, 2, 3, 4, 9].map((failures) => pauseAfter(1000, 5, failures))).toEqual([1000, 2000, 4000, 5000, 5000]);
  expect(pauseAfter(1000, 5, 1, 7000)).toBe(7000);
});

test("what is on the screen is asked for in one request, however it came there", async () => {
  const { asked, rounds } = server();
  const began = performance.now();
  rounds.add(poll("get_status"));
  await vi.advanceTimersByTimeAsync(100);
  rounds.add(poll("list_budgets"));
  rounds.add(poll("list_buckets"));
  rounds.add(poll("list_overrides", 10_000));
  await vi.advanceTimersByTimeAsync(3000);
  expect(asked.map(({ at, methods }) => [at - began, methods])).toEqual([
    [0, ["get_status"]],
    [100, ["list_budgets", "list_buckets", "list_overrides"]],
    [1000, ["get_status", "list_budgets", "list_buckets"]],
    [2000, ["get_status", "list_budgets", "list_buckets"]],
    [3000, ["get_status", "list_budgets", "list_buckets"]],
  ]);
});

test("what fails is asked for when it may be, and holds nothing else up", async () => {
  const told: Outcome[] = [];
  const { asked, rounds } = server(({ method }) => (method === "list_budgets" ? new ApiError(503, "busy", "", "", "", 3000) : { data: 1 }));
  rounds.add(poll("get_status"));
  rounds.add(poll("list_budgets", 1000, (outcome) => told.push(outcome)));
  await vi.advanceTimersByTimeAsync(2900);
  expect(asked.map(({ methods }) => methods.length)).toEqual([2, 1, 1]);
  await vi.advanceTimersByTimeAsync(300);
  expect(told).toHaveLength(2);
});

test("an answer that takes long delays nothing that is new, and is given up when nobody waits for it", async () => {
  const { asked, rounds } = server(() => ({ data: 1 }), 5000);
  const slow = poll("query_throttle_log");
  rounds.add(slow);
  await vi.advanceTimersByTimeAsync(200);
  rounds.add(poll("get_status"));
  await vi.advanceTimersByTimeAsync(200);
  expect(asked.map(({ methods }) => methods)).toEqual([["query_throttle_log"], ["get_status"]]);
  rounds.delete(slow);
  expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, false]);
});

test("what was slow is asked for by itself, and soon again", async () => {
  const asked: { at: number; methods: string[] }[] = [];
  const readAll = async (questions: readonly Question[]) => {
    asked.push({ at: Math.round(performance.now() - began), methods: questions.map((q) => q.method) });
    const isSlow = questions.some(({ method }) => method === "query_throttle_log");
    await new Promise((resolve) => setTimeout(resolve, isSlow ? 6000 : 10));
    return questions.map(() => ({ data: 1 }));
  };
  const began = performance.now();
  const rounds = new Rounds({ readAll });
  for (const method of ["get_status", "query_throttle_log", "list_budgets"] as const) rounds.add(poll(method));
  await vi.advanceTimersByTimeAsync(40_000);
  const of = (method: string) => asked.filter(({ methods }) => methods.includes(method));
  expect(of("query_throttle_log").map(({ at }) => Math.round(at / 100))).toEqual([0, 110, 220, 330]);
  expect(of("query_throttle_log").slice(1).every(({ methods }) => methods.length === 1)).toBe(true);
  const later = of("get_status").slice(1);
  expect(later.length).toBeGreaterThan(25);
  expect(Math.max(...later.slice(1).map(({ at }, i) => at - later[i]!.at))).toBeLessThanOrEqual(1010);
});

test("everything is asked again when something was changed", async () => {
  const { asked, rounds } = server();
  rounds.add(poll("get_status"));
  rounds.add(poll("list_overrides", 10_000));
  await vi.advanceTimersByTimeAsync(300);
  rounds.askAgain();
  await vi.advanceTimersByTimeAsync(100);
  expect(asked.map(({ methods }) => methods.length)).toEqual([2, 2]);
});
