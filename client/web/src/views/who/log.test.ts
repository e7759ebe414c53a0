// What is made of the log's sums: points, strips and their boxes.
import { expect, test } from "vitest";
import { seriesOf } from "./history";
import { runsOf, stripsOf } from "./heat_strip";
import { tipText } from "./plot";
import { needsAll } from "./identities";
import { stepSeconds } from "./who";

const at = (s: number) => new Date(s * 1000).toISOString();

test("each step has a point, what was denied lies within what was asked, and who waited is a mean", () => {
  const sums = [
    { from: at(100), allowed: "5", denied: "2", waiting: { waited: "25s" } },
    { from: at(120), would_be_denied: "1", waiting: { waited: "10s" } },
  ];
  // The first and the last step are cut: five seconds of each are looked at.
  expect(seriesOf(sums, 95_000, 125_000, 10)).toEqual([
    [90, 100, 110, 120],
    [0, 7, 0, 1],
    [0, 2, 0, 0],
    [0, 2.5, 0, 2],
  ]);
});

test("a step says what it has, and how many waited only where somebody did", () => {
  const series = seriesOf([{ from: at(100), allowed: "1", denied: "3", waiting: { waited: "32.1s" } }], 100_000, 120_000, 10);
  expect([tipText(series, 0, 10), tipText(series, 1, 10)]).toEqual([
    "00:01:40–00:01:50 UTC: 1 allowed, 3 denied (75 %), 3.2 waiting",
    "00:01:50–00:02:00 UTC: 0 allowed, 0 denied",
  ]);
});

test("a strip has the share that was held back, denied or waiting, and tells silence from calm", () => {
  const sums = [
    { identity: "etl", from: at(10), allowed: "1", denied: "3", waiting: { held: "2s" } },
    { identity: "etl", from: at(20), allowed: "9" },
    { identity: "etl", from: at(30), allowed: "9", denied: "1", waiting: { held: "4s" } },
    { identity: "etl", from: at(500), allowed: "9" },
    { identity: "copy", from: at(20), waiting: { held: "10s" } },
  ];
  const strips = stripsOf(sums, 0, 45_000, 10);
  expect([strips.get("etl"), strips.get("copy")]).toEqual([[-1, 0.75, 0, 0.4, -1], [-1, -1, 1, -1, -1]]);
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
  expect([place, { ...place, page: 8 }].map(needsAll)).toEqual([false, false]);
  expect([{ ...place, q: "etl" }, { ...place, sort: "denied" }, { ...place, sort: "-denied" }, { ...place, page: 9 }].map(needsAll)).toEqual([true, true, true, true]);
});

test("a range has at most ninety steps", () => {
  expect([900, 3600, 21600, 86400, 604800, 2592000].map(stepSeconds)).toEqual([10, 60, 300, 1800, 14400, 43200]);
});
