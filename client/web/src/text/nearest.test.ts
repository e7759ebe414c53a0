import { expect, test } from "vitest";
import { distance, levelsOf, nearest } from "./nearest";

test("a distance counts letters", () => {
  expect([distance("etl", "etl"), distance("etl", "elt"), distance("export", "exports"), distance("", "abc")]).toEqual([0, 2, 1, 3]);
});

test("levels go from the whole to the root", () => {
  expect(levelsOf("a:b:c")).toEqual(["a:b:c", "b:c", "c"]);
});

test("what is meant is spelt nearly so, in capitals, or goes on", () => {
  const known = ["nightly-export:etl", "invoices:etl", "orders-1:copy:backfill"];
  expect(nearest("nightly-exprot:etl", known)).toEqual(["nightly-export:etl"]);
  expect(nearest("nightly-export", known)).toEqual(["nightly-export:etl"]);
  expect(nearest("ETL", known)).toEqual(["etl"]);
  expect(nearest("backfil", known)).toEqual(["backfill"]);
  expect(nearest("vcopier:online-ddl", known)).toEqual([]);
});
