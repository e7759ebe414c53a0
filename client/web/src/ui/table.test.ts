import { expect, test } from "vitest";
import { matches, sorted, type Column } from "./table";

interface Row {
  name: string;
  n: number;
}
const COLUMNS: Column<Row>[] = [
  { key: "name", title: "Name", cell: (row) => row.name, by: (row) => row.name },
  { key: "n", title: "N", cell: (row) => row.n, by: (row) => row.n, number: true },
  { key: "none", title: "None", cell: () => "" },
];
const ROWS = [
  { name: "b", n: 10 },
  { name: "a", n: 9 },
  { name: "c", n: 10 },
];
const names = (sort: string) => sorted(ROWS, COLUMNS, sort).map((row) => row.name);

test("rows are sorted by a column, either way, and stay as they are where it has no order", () => {
  expect(names("name")).toEqual(["a", "b", "c"]);
  expect(names("-n")).toEqual(["b", "c", "a"]);
  expect(names("none")).toEqual(["b", "a", "c"]);
  expect(names("<script>")).toEqual(["b", "a", "c"]);
});

test("a search takes all words, in any order and case", () => {
  expect(matches("Shard-123 slowed", "SLOWED shard")).toBe(true);
  expect(matches("shard-123", "shard 124")).toBe(false);
  expect(matches("anything", "  ")).toBe(true);
});
