import { expect, test } from "vitest";
import { placeOnBar, targetVerdict, verdictOf } from "./health";

test("a word says how bad it is, as the server has it", () => {
  const verdict = (kind: string, more = {}) => verdictOf({ kind: `CONDITION_KIND_${kind}` as "CONDITION_KIND_SHUT", ...more }, { speed: 0.62, pressure: "Infinity" });
  expect(["UNMEASURED", "HEALTHY", "RECOVERING", "STANDBY_MISSING", "SLOWED", "WARMING", "STALE", "SHUT"].map((kind) => verdict(kind).word)).toEqual(
    ["not measured", "healthy", "recovering, 62 %", "standby missing", "slowed to 62 %", "warming", "stale", "shut"]);
  expect(verdict("SHUT", { message: "profile 'strict': the gate is shut by lag", signal: "lag", since: "65s" })).toMatchObject(
    { tone: "bad", sentence: "Profile 'strict': the gate is shut by lag.", signal: "lag", pressure: Infinity, forS: 65 });
  expect(verdictOf(undefined, undefined)).toMatchObject({ word: "unknown", tone: "warn" });
});

test("a target's figures are those of the profile that its condition is of", () => {
  const profiles = [
    { profile: "calm", speed: 1 },
    { profile: "strict", speed: 0.4, pressure: 0.6 },
  ];
  const condition = { kind: "CONDITION_KIND_SLOWED" as const, profile: "strict" };
  expect(targetVerdict({ profiles, default_health: "calm", condition })).toMatchObject({ word: "slowed to 40 %", pressure: 0.6 });
  expect(targetVerdict({ profiles, default_health: "calm", condition: { kind: "CONDITION_KIND_STANDBY_MISSING" } })).toMatchObject({ word: "standby missing", speed: 1 });
});

test("soft and hard are at the same place on each bar", () => {
  expect([0, 50, 100, 250, 400, 1e9, Infinity].map((value) => placeOnBar(value, 100, 400))).toEqual([0, 0.3, 0.6, 0.75, 0.9, 1, 1]);
  expect(placeOnBar(0, 0, 1)).toBe(0.6);
});
