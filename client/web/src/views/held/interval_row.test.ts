import { expect, test } from "vitest";
import { causeNow, shareText } from "./interval_row";

test("who waited was held back as who was denied", () => {
  expect([shareText({ denied: "3" }), shareText({ waited_ratio: 0.8231 }), shareText({ waited_ratio: 0.9999 }), shareText({ waited_ratio: 0.5, denied: "1" }), shareText({})]).toEqual(
    ["3 denials", "waited 82 % of the time", "waited 100 % of the time", "waited 50 % of the time, 1 denial", "0 denials"]);
});

const at = (s: number) => new Date(1000 * s).toISOString();
const rows = { reason: "REASON_CAPACITY" as const, budget: "rows", rule: "etl" };
const pause = { reason: "REASON_DENY_RULE" as const, rule: "override 7: paused by ann (disk)" };
const interval = { identity: "a:etl", target: "orders", from: at(100), to: at(200), causes: [{ ...rows, denied: "900" }, pause] };
const denial = (cause: object, s: number, target = "orders") => ({ identity: "a:etl", target, at: at(s), outcome: "OUTCOME_DENIED" as const, cause });

test("after a pause the pause is named, though something else denied most", () => {
  const denials = [denial(rows, 201, "billing"), denial(pause, 200), denial(rows, 150)];
  expect(causeNow(interval, denials, 205_000)?.rule).toBe("override 7: paused by ann (disk)");
});

test("nothing is said twice, and nothing of what is over", () => {
  expect(causeNow(interval, [denial(rows, 200)], 205_000)).toBeUndefined();
  expect(causeNow(interval, [denial(pause, 200)], 260_000)).toBeUndefined();
  expect(causeNow(interval, [denial(pause, 100)], 205_000)).toBeUndefined();
});

test("an order is named with the way back, though nothing else has denied", () => {
  const only = { ...interval, causes: [pause] };
  expect(causeNow(only, [denial(pause, 200)], 205_000)?.rule).toBe("override 7: paused by ann (disk)");
});
