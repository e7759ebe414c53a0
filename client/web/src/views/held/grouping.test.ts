import { expect, test } from "vitest";
import { countsOf, groupsOf, mostOf, newestOf } from "./grouping";

const at = (s: number) => new Date(1000 * s).toISOString();
const rows = { reason: "REASON_CAPACITY" as const, budget: "rows" };
const gate = { reason: "REASON_HEALTH" as const, signal: "lock_waiters" };
const interval = (identity: string, cause: object, from: number, to: number, denied: string) => ({ identity, target: "orders", from: at(from), to: at(to), denied, causes: [cause] });

test("five thousand tenants are one group, by root and cause", () => {
  const intervals = Array.from({ length: 5000 }, (_, i) => interval(`tenant-${i}:etl`, rows, 100 + i, 9000, "2"));
  const groups = groupsOf([...intervals, interval("nightly:etl", gate, 50, 60, "3"), interval("x:report", rows, 10, 9000, "1"), interval("tenant-0:etl", rows, 20, 40, "1")], 9_000_000);
  expect(groups.map(({ root, identities, held, from, to }) => [root, identities, held.denied, from, to])).toEqual([
    ["etl", 5000, 10_001, at(20), at(9000)],
    ["report", 1, 1, at(10), at(9000)],
    ["etl", 1, 3, at(50), at(60)],
  ]);
});

test("identities without a common root are a group by their cause, apart from who is held back now", () => {
  const alone = Array.from({ length: 300 }, (_, i) => interval(`job-${i}`, rows, 100 + i, 900, "2"));
  const groups = groupsOf([...alone, interval("held:now", rows, 50, 960, "3")], 970_000);
  expect(groups.map(({ root, identities, held, from }) => [root, identities, held.denied, from])).toEqual([
    ["now", 1, 3, at(50)],
    ["", 300, 600, at(100)],
  ]);
});

test("of each the newest interval is shown, and who was held back most of a group is named", () => {
  const intervals = [interval("a:etl", rows, 50, 90, "9"), interval("b:etl", rows, 40, 80, "1"), interval("a:etl", rows, 1, 20, "2")];
  expect(newestOf(intervals).map(({ interval: { identity, to }, earlier }) => [identity, to, earlier])).toEqual([
    ["a:etl", at(90), 1],
    ["b:etl", at(80), 0],
  ]);
  expect(mostOf(groupsOf(intervals, 0)[0]!)).toEqual({ identity: "a:etl", held: { waitedS: 0, denied: 11 } });
  expect(mostOf(groupsOf(intervals.slice(1), 0)[0]!)).toEqual({ identity: "a:etl", held: { waitedS: 0, denied: 2 } });
  expect(mostOf(groupsOf(intervals.slice(1, 2), 0)[0]!)).toBeUndefined();
});

test("what the log counts belongs to the group of its root and cause", () => {
  const sum = (identity: string, denied: string) => ({ identity, target: "orders", ...rows, denied });
  const counts = countsOf([sum("a:etl", "5"), sum("b:etl", "7"), sum("b:report", "1")]);
  const [group] = groupsOf([interval("a:etl", rows, 1, 2, "1")], 0);
  expect(counts.get(group!.key)).toEqual({ identities: 2, held: { waitedS: 0, denied: 12 } });
  expect(counts.size).toBe(2);
});

test("who waited for minutes comes before who was denied a few times", () => {
  const waited = { ...interval("slow:copy", rows, 40, 90, "0"), waiting: { waited: "300s" } };
  const groups = groupsOf([interval("a:etl", rows, 50, 90, "9"), waited, { ...waited, identity: "b:etl", waiting: { waited: "20s" } }], 0);
  expect(groups.map(({ root, held }) => [root, held])).toEqual([
    ["copy", { waitedS: 300, denied: 0 }],
    ["etl", { waitedS: 20, denied: 9 }],
  ]);
  expect(mostOf(groups[1]!)).toEqual({ identity: "b:etl", held: { waitedS: 20, denied: 0 } });
  expect(countsOf([{ identity: "slow:copy", target: "orders", ...rows, waiting: { waited: "300s" } }]).get(groups[0]!.key)).toEqual(
    { identities: 1, held: { waitedS: 300, denied: 0 } });
});
