import { expect, test } from "vitest";
import { causeKey, causeText, overrideOf } from "./cause";

test("a cause is said in words", () => {
  expect(causeText({ reason: "REASON_CAPACITY", budget: "rows", rule: "etl" })).toBe("budget rows");
  expect(causeText({ reason: "REASON_CAPACITY", budget: "rows", signal: "lock_waiters" })).toBe("budget rows, slowed by lock_waiters");
  expect(causeText({ reason: "REASON_MAX_COST", budget: "rows" })).toBe("budget rows (largest cost of one Check)");
  expect(causeText({ reason: "REASON_HEALTH", signal: "active_backends" })).toBe("gate shut by active_backends");
  expect(causeText({ reason: "REASON_HEALTH" })).toBe("gate shut for want of a sample");
  expect(causeText({ reason: "REASON_DENY_RULE", rule: "nights" })).toBe("rule nights");
  expect(causeText({ reason: "REASON_DENY_RULE", rule: "override 7: paused by ann (why)" })).toBe("override 7: paused by ann (why)");
  expect(causeText({ reason: "REASON_PERMITS" })).toBe("permits");
});

test("an override is known by its rule's name", () => {
  expect([overrideOf("override 17: paused by ann (x)"), overrideOf("override"), overrideOf(undefined)]).toEqual(["17", "", ""]);
});

test("causes are one where reason, budget, rule and signal are", () => {
  const cause = { reason: "REASON_CAPACITY" as const, budget: "rows", rule: "etl", peak: 5 };
  expect(causeKey(cause)).toBe(causeKey({ ...cause, peak: 6 } as typeof cause));
  expect(causeKey(cause)).not.toBe(causeKey({ ...cause, budget: "jobs" }));
});
