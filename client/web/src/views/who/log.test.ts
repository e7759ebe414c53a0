// What is made of the log's sums: points, strips and their boxes.
import { expect, test } from "vitest";
import { seriesOf } from "./history";
import { runsOf, stripsOf } from "./heat_strip";
import { needsAll } from "./identities";
import { stepSeconds } from "./who";

const at = (s: number) => new Date(s * 1000).toISOString();

test("each step has a point, and what was denied lies within what was asked", () => {
  const sums = [
    { from: at(100), allowed: "5", denied: "2" },
    { from: at(120), would_be_denied: "1" },
  ];
  expect(seriesOf(sums, 95_000, 130_000, 10)).toEqual([
    [90, 100, 110, 120],
    [0, 7, 0, 1],
    [0, 2, 0, 0],
  ]);
});

test("a strip has the share that was denied, and tells silence from calm", () => {
  const sums = [
    { identity: "etl", from: at(10), allowed: "1", denied: "3" },
    { identity: "etl", from: at(20), allowed: "9" },
    { identity: "etl", from: at(500), allowed: "9" },
  ];
  expect(stripsOf(sums, 0, 40_000, 10).get("etl")).toEqual([-1, 0.75, 0, -1]);
});

test("steps that are alike are one box", () => {
  expect(runsOf([-1, 0, 0, 0.1, 0.2, 1, -1])).toEqual([
    { start: 1, length: 2, level: 0 },
    { start: 3, length: 2, level: 1 },
    { start: 5, length: 1, level: 4 },
  ]);
});

test("all identities are asked for where the first ones will not do", () => {
  const place = { q: "", sort: "", page: 0 };
  expect([place, { ...place, sort: "-denied" }, { ...place, page: 8 }].map(needsAll)).toEqual([false, false, false]);
  expect([{ ...place, q: "etl" }, { ...place, sort: "denied" }, { ...place, page: 9 }].map(needsAll)).toEqual([true, true, true]);
});

test("a range has at most ninety steps", () => {
  expect([900, 3600, 21600, 86400, 604800, 2592000].map(stepSeconds)).toEqual([10, 60, 300, 1800, 14400, 43200]);
});
