import { expect, test } from "vitest";
import { differencesOf, notesOf } from "./servers";

const offer = (target: string, configuration: string) => ({
  target,
  configuration,
  measured: "MEASURED_ALL" as const,
});

test("a server that cannot be given targets says why", () => {
  const nothing = { ...offer("orders", "1"), measured: "MEASURED_NOTHING" as const, why: "connection refused" };
  const partly = { ...offer("users", "1"), measured: "MEASURED_PARTLY" as const };
  expect(notesOf({ is_here: true, offers: [nothing, partly, offer("search", "1")] })).toEqual([
    "Cannot measure orders: connection refused",
    "Measures a part of users",
  ]);
  expect(notesOf({ is_here: false, offers: [nothing] })).toEqual([]);
  expect(notesOf({ is_here: true })).toEqual([]);
  const stateless = { ...offer("orders", "1"), keeps_no_state: true, why: "permission denied" };
  expect(notesOf({ is_here: true, offers: [stateless, { ...stateless, target: "users" }] })).toEqual([
    "Cannot keep the states of targets in the store: permission denied",
  ]);
});

test("who has a target otherwise, or lacks it, is told by target", () => {
  const cluster = {
    targets: [{ target: "orders" }, { target: "users" }, { target: "gone" }],
    members: [
      { name: "a", is_here: true, offers: [offer("orders", "1111111122222222"), offer("users", "1")] },
      { name: "b", is_here: true, offers: [offer("orders", "3333333322222222")] },
      { name: "c", is_here: true, offers: [offer("orders", "1111111122222222"), offer("users", "1")] },
      { name: "d", is_here: false, offers: [] },
      { name: "e", is_here: true, says_no_targets: true },
    ],
  };
  expect(differencesOf(cluster)).toEqual([
    "orders is configured differently: a, c 11111111; b 33333333",
    "users is not in the file of b",
  ]);
});
