import { expect, test } from "vitest";
import { bytes, duration, number, percent, reading, sentence, span, time, visible, word } from "./format";

test("numbers have three to four digits that matter", () => {
  expect([0, 7, 0.01234, 4.567, 812, 812.4, 12345, 1234567, -3e9].map(number)).toEqual(
    ["0", "7", "0.0123", "4.57", "812", "812", "12,345", "1.23 M", "-3.00 G"]);
});

test("64 bits come as texts, what is left out is 0, and infinity is a word", () => {
  expect(["12345", undefined, "Infinity", "-Infinity", "NaN"].map(number)).toEqual(["12,345", "0", "infinite", "−infinite", "unknown"]);
});

test("spans are said in two units at most", () => {
  expect([0, 0.004, 0.05, 3.14159, 59, 185, 7440, 446400, -5].map(span)).toEqual(
    ["0 s", "4 ms", "0.05 s", "3.1 s", "59 s", "3 min 5 s", "2 h 4 min", "5 d 4 h", "−5 s"]);
  expect(duration(undefined)).toBe("–");
  expect(duration("0.122431856s")).toBe("0.12 s");
});

test("times are UTC, with the day where it is another one", () => {
  const now = Date.parse("2026-03-02T12:00:00Z");
  expect(time("2026-03-02T06:07:08.9Z", now)).toBe("06:07:08");
  expect(time("2026-03-01T06:07:08Z", now)).toBe("2026-03-01 06:07:08");
  expect(time(undefined, now)).toBe("–");
});

test("a reading is in the unit that its signal's name says", () => {
  expect(reading("replication_lag_seconds on standby-2", 7.13)).toBe("7.1 s");
  expect(reading("wal_bytes_per_second", 3 * 2 ** 20)).toBe("3 MiB");
  expect(reading("active_backends", "Infinity")).toBe("infinite");
  expect(reading("active_backends", undefined)).toBe("–");
  expect(bytes(512)).toBe("512 B");
});

test("what is not seen, or turns others round, is shown as its number", () => {
  expect(visible("a\u202Egnp.exe\u2066\u200b\n")).toBe("a\\u202egnp.exe\\u2066\\u200b\\u000a");
  expect(visible("a\u{e0041}\u034f\u3164")).toBe("a\\u{e0041}\\u034f\\u3164");
  expect(visible("Z\u0301\u0302\u0303\u0304")).toBe("Z\u0301\u0302\\u0303\\u0304");
  expect(visible("שלום مرحبا <b> ñ 漢字 नमस्ते Việt")).toBe("שלום مرحبا <b> ñ 漢字 नमस्ते Việt");
});

test("a sentence begins with a capital and ends with one full stop", () => {
  expect(["the gate is shut", "It is.", ""].map(sentence)).toEqual(["The gate is shut.", "It is.", ""]);
});

test("words are words", () => {
  expect(word("REASON_MAX_COST", "REASON_")).toBe("max cost");
  expect(percent(0.0725)).toBe("7.3 %");
});

test("a share is all only where it is all, and nothing only where it is nothing", () => {
  expect([0, 0.5, 1, 2.5].map(percent)).toEqual(["0 %", "50 %", "100 %", "250 %"]);
  expect([0.9994, 0.9996, 0.999999, 1 - 1e-15].map(percent)).toEqual(["99.9 %", "99.96 %", "99.9999 %", "nearly 100 %"]);
  expect([0.0006, 0.0004, 0.000001].map(percent)).toEqual(["0.1 %", "0.04 %", "0.0001 %"]);
});
