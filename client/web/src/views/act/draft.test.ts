import { expect, test } from "vitest";
import { again, changed, draftAt, EMPTY, grantFor, isOn, requestOf } from "./draft";

test("who looks at another target acts on that one, whatever was typed before", () => {
  const orders = draftAt(EMPTY, { target: "orders", identity: "a:etl" });
  expect([orders.name, orders.target]).toEqual(["a:etl", "orders"]);
  const typed = changed(orders, { target: "billing", name: "b:etl", reason: "disk is full" });
  expect(draftAt(typed, { target: "orders", identity: "a:etl" })).toBe(typed);
  const moved = draftAt(typed, { target: "ledger", identity: "" });
  expect([moved.name, moved.target, moved.reason]).toEqual(["", "ledger", "disk is full"]);
});

test("a request says whom, where, for how long and why", () => {
  const draft = { ...EMPTY, kind: "OVERRIDE_KIND_THROTTLE" as const, name: " a:etl ", target: "orders", percent: 25, reason: " late " };
  expect(requestOf(draft, "ann")).toEqual({
    ...{ kind: "OVERRIDE_KIND_THROTTLE", selector: { identity: "a:etl", target: "orders" }, ratio: 0.25 },
    ...{ actor: "ann", reason: "late", expires_in: "3600s" },
  });
  expect(requestOf({ ...EMPTY, whom: "everything", ends: "never", reason: "x" }, "")).toEqual({
    ...{ kind: "OVERRIDE_KIND_PAUSE", selector: { everything: true }, reason: "x", never_expires: true },
  });
});

test("each order takes a grant of its own", () => {
  expect(grantFor("OVERRIDE_KIND_PAUSE", false)).toBe("overrides");
  expect(grantFor("OVERRIDE_KIND_EXEMPT", false)).toBe("exempt_overrides");
  expect(grantFor("OVERRIDE_KIND_RESUME", true)).toBe("everything");
});

test("an override of all targets is on each", () => {
  expect(isOn({ selector: { identity: "a" } }, "orders")).toBe(true);
  expect(isOn({ selector: { identity: "a", target: "orders" } }, "orders")).toBe(true);
  expect(isOn({ selector: { identity: "a", target: "billing" } }, "orders")).toBe(false);
});

test("what was ended is made again until the same end, and not everything can be exempted", () => {
  const made = { id: "3", kind: "OVERRIDE_KIND_PAUSE" as const, selector: { identity: "etl" }, reason: "r", expires_at: "2026-03-01T00:00:00Z" };
  expect(again(made, "")).toEqual({ kind: made.kind, selector: made.selector, reason: "undone: r", expires_at: made.expires_at });
  expect(changed({ ...EMPTY, whom: "everything" }, { kind: "OVERRIDE_KIND_EXEMPT" }).whom).toBe("identity");
});
