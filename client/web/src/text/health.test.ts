import { expect, test } from "vitest";
import { placeOnBar, targetVerdict, verdictOf } from "./health";

test("what is left out of an answer is 0: a gate without speed is not healthy", () => {
  expect(verdictOf({ state: "HEALTH_STATE_HEALTHY", pressure: 1.5, signal: "lag" }).word).toBe("shut");
  expect(verdictOf({ state: "HEALTH_STATE_HEALTHY", speed: 1 }).word).toBe("healthy");
  expect(verdictOf({ state: "HEALTH_STATE_HEALTHY", speed: 0.62, pressure: 0.38 }).word).toBe("slowed to 62 %");
  expect(verdictOf({ state: "HEALTH_STATE_HEALTHY", speed: 0.5 }).word).toBe("recovering, 50 %");
  expect(verdictOf({ state: "HEALTH_STATE_HEALTHY", pressure: "Infinity", signal: "standby" }).word).toBe("shut");
  expect(verdictOf({ state: "HEALTH_STATE_STALE", speed: 1 }).tone).toBe("bad");
});

test("a target is what its worst profile is, which is named where it is not the default", () => {
  const profiles = [
    { profile: "calm", state: "HEALTH_STATE_HEALTHY" as const, speed: 1 },
    { profile: "strict", state: "HEALTH_STATE_STALE" as const },
  ];
  expect(targetVerdict({ profiles, default_health: "calm" }).word).toBe("stale");
  expect(targetVerdict({ profiles, default_health: "calm" }).sentence).toMatch(/^Health profile strict: What is known is too old/);
  expect(targetVerdict({ profiles, default_health: "strict" }).sentence).toMatch(/^What is known is too old/);
  expect(targetVerdict({ profiles: [profiles[0]!], default_health: "calm" }).word).toBe("healthy");
  expect(targetVerdict({}).word).toBe("not measured");
});

test("soft and hard are at the same place on each bar", () => {
  expect([0, 50, 100, 250, 400, 1e9, Infinity].map((value) => placeOnBar(value, 100, 400))).toEqual([0, 0.3, 0.6, 0.75, 0.9, 1, 1]);
  expect(placeOnBar(0, 0, 1)).toBe(0.6);
});
