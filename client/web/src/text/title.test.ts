import { expect, test } from "vitest";
import { HOME } from "../state/url";
import { titleOf } from "./title";

test("a title says what is looked at, before where", () => {
  expect(titleOf(HOME)).toBe("Now · Headgate");
  expect(titleOf({ ...HOME, target: "orders" })).toBe("orders · Now · Headgate");
  const who = { ...HOME, view: "who" as const, target: "orders", identity: "nightly:etl" };
  expect(titleOf({ ...who, range: "15m" })).toBe("nightly:etl on orders, last 15m · Who · Headgate");
  expect(titleOf({ ...who, range: "2026-03-01T06:00:00Z/2026-03-01T07:25:00Z" })).toBe("nightly:etl on orders, 2026-03-01 06:00 to 07:25 UTC · Who · Headgate");
  expect(titleOf({ ...who, identity: "", range: "2026-03-01T06:00:00Z/2026-03-02T07:25:00Z" })).toBe(
    "Everybody on orders, 2026-03-01 06:00 to 2026-03-02 07:25 UTC · Who · Headgate",
  );
  expect(titleOf({ ...who, view: "explain" })).toBe("nightly:etl on orders · Explain · Headgate");
  expect(titleOf({ ...HOME, view: "explain" })).toBe("Explain · Headgate");
  expect(titleOf({ ...HOME, view: "whatif", target: "orders" })).toBe("orders, last 1h · What if · Headgate");
  expect(titleOf({ ...HOME, view: "force" })).toBe("In force · Headgate");
});
