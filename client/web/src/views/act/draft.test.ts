import { expect, test } from "vitest";
import { again, changed, draftAt, EMPTY, grantFor, inForce, isOn, requestOf, type Override } from "./draft";

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

test("what is paused already, by itself or with what it belongs to, is found; what is paused elsewhere or resumed is not", () => {
  const made = (id: string, selector: Override["selector"], kind: Override["kind"] = "OVERRIDE_KIND_PAUSE"): Override => ({ id, kind: kind!, selector: selector! });
  const asked = (name: string, target: string, kind: typeof EMPTY.kind = "OVERRIDE_KIND_PAUSE") => requestOf({ ...EMPTY, kind, name, target }, "");
  const orders = [made("1", { identity: "etl", target: "orders" }), made("2", { segment: "copy" })];
  const found = (name: string, target: string) => inForce(orders, asked(name, target))?.id;
  expect([found("a:etl", "orders"), found("a:etl", "billing"), found("a:etl", ""), found("aetl", "orders"), found("a:copy:x", "")]).toEqual(
    ["1", undefined, undefined, undefined, "2"]);
  expect(inForce([made("3", { everything: true })], asked("a:etl", "orders"))?.id).toBe("3");
  expect(inForce([...orders, made("4", { identity: "a:etl" }, "OVERRIDE_KIND_RESUME")], asked("a:etl", "orders"))).toBeUndefined();
  const stop = { ...made("3", { everything: true }), created_at: "2026-03-01T07:00:00Z" };
  const resumed = { ...made("4", { identity: "etl" }, "OVERRIDE_KIND_RESUME"), created_at: "2026-03-01T06:00:00Z" };
  expect(inForce([stop, resumed], asked("a:etl", "orders"))?.id).toBe("3");
  expect(inForce([stop, { ...resumed, created_at: "2026-03-01T08:00:00Z" }], asked("a:etl", "orders"))).toBeUndefined();
  expect(inForce([made("5", { identity: "etl" }, "OVERRIDE_KIND_THROTTLE")], asked("etl", "", "OVERRIDE_KIND_THROTTLE"))).toBeUndefined();
});
