import { expect, test } from "vitest";
import { HOME, isPast, isPeriod, periodOf, rangeMs, readPlace, writePlace } from "./url";

test("a place is read as it was written, whatever is in it", () => {
  const place = { ...HOME, view: "who" as const, identity: "a&b=c:d", q: "100 % <b>", range: "6h", sort: "-denied", page: 3 };
  expect(readPlace(new URL(writePlace(place), "http://x").search)).toEqual(place);
  expect(writePlace(HOME)).toBe("/");
});

test("what makes no sense is the usual", () => {
  expect(readPlace("?view=x&page=-1&range=<script>")).toEqual(HOME);
  expect(readPlace("?page=1.5&range=2026-03-02T00:00:00Z/2026-03-01T00:00:00Z")).toEqual(HOME);
});

test("ranges are back from now, in whole steps, or from one time to another", () => {
  expect([rangeMs("15m"), rangeMs("7d"), rangeMs("0m"), rangeMs("1y")]).toEqual([900_000, 604_800_000, undefined, undefined]);
  const now = Date.parse("2026-03-01T12:00:07.5Z");
  expect(periodOf("1h", now)).toEqual({ from: "2026-03-01T11:00:00.000Z" });
  const period = "2026-03-01T06:00:00Z/2026-03-01T07:00:00Z";
  expect(isPeriod(period)).toBe(true);
  expect(periodOf(period, now)).toEqual({ from: "2026-03-01T06:00:00.000Z", to: "2026-03-01T07:00:00.000Z" });
  expect([isPast(period, now), isPast("2026-03-01T06:00:00Z/2026-03-01T12:00:00Z", now), isPast("1h", now)]).toEqual([true, false, false]);
});

test("a period of a link ends now at the latest, and is at most a year", () => {
  const now = Date.parse("2026-03-01T12:00:07.5Z");
  expect(periodOf("2026-03-01T00:00:00Z/9999-01-01T00:00:00Z", now)).toEqual({ from: "2026-03-01T00:00:00.000Z" });
  expect(periodOf("0001-01-01T00:00:00Z/9999-01-01T00:00:00Z", now)).toEqual({ from: "2025-02-28T12:00:00.000Z" });
  expect(periodOf("9998-01-01T00:00:00Z/9999-01-01T00:00:00Z", now)).toEqual({ from: "2026-03-01T11:59:50.000Z" });
  expect(periodOf("0001-01-01T00:00:00Z/2026-01-01T00:00:00Z", now)).toEqual({ from: "2024-12-31T00:00:00.000Z", to: "2026-01-01T00:00:00.000Z" });
  expect([rangeMs("366d"), rangeMs("367d"), rangeMs("9999d")]).toEqual([366 * 86_400_000, undefined, undefined]);
});
