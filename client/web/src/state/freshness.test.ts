import { expect, test } from "vitest";
import { ApiError } from "../api/client";
import { Freshness } from "./live";

test("what is shown is as old as the oldest of it, and late after three seconds", () => {
  const freshness = new Freshness();
  expect(freshness.read(0)).toBeUndefined();
  freshness.set("status", { data: 1, at: 5000 });
  freshness.set("log", { data: 1, at: 4000 });
  expect(freshness.read(6900)).toEqual({ at: 4000, isLate: false });
  expect(freshness.read(7100)).toEqual({ at: 4000, isLate: true });
});

test("an error that is not the reader's is told, and a refusal is not", () => {
  const freshness = new Freshness();
  freshness.set("status", { error: new ApiError(403, "no") });
  expect(freshness.read(0)?.error).toBeUndefined();
  freshness.set("log", { error: new ApiError(0, "the server cannot be reached") });
  expect(freshness.read(0)?.error?.message).toBe("the server cannot be reached");
});
