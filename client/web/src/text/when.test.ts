import { expect, test } from "vitest";
import { typedOf, whenOf } from "./when";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const read = (text: string, dayMs?: number) => {
  const at = whenOf(text, NOW, dayMs);
  return at === undefined ? undefined : new Date(at).toISOString();
};

test("a time is read with its day, with a word for it, and without", () => {
  expect(read("2026-02-27 07:25")).toBe("2026-02-27T07:25:00.000Z");
  expect(read("2026-02-27T07:25:30")).toBe("2026-02-27T07:25:30.000Z");
  expect(read("yesterday 07:00")).toBe("2026-02-28T07:00:00.000Z");
  expect(read("Today 23:59:59")).toBe("2026-03-01T23:59:59.000Z");
  expect(read("7:05")).toBe("2026-03-01T07:05:00.000Z");
  expect(read("7:05", Date.parse("2026-01-09T22:00:00Z"))).toBe("2026-01-09T07:05:00.000Z");
});

test("what is no time is none", () => {
  expect(["", "7", "24:00", "07:60", "7:00 AM", "2026-02-31 07:00", "2026-13-01 07:00", "tomorrow 07:00"].map((text) => read(text))).toEqual(Array(8).fill(undefined));
});

test("what is shown is read as it was", () => {
  expect(typedOf(NOW)).toBe("2026-03-01 12:00:00");
  expect(whenOf(typedOf(NOW), 0)).toBe(NOW);
});
