import { expect, test } from "vitest";
import { raisedTexts, workText, yieldingText } from "./yielding";

const session = (pid: number) => ({ pid, role: "etl", application_name: `backfill-${pid}` });

test("who yields is named up to four, and counted", () => {
  const state = { yields: true, means: "SCHED_IDLE", yielding: "6", yielding_sessions: [1, 2, 3, 4, 5].map(session) };
  expect(yieldingText(state)).toBe(
    "6 sessions yield the processor (SCHED_IDLE): pid 1 backfill-1 (role etl), pid 2 backfill-2 (role etl), " +
      "pid 3 backfill-3 (role etl), pid 4 backfill-4 (role etl) and 2 more",
  );
  expect(yieldingText({ ...state, yielding: "1", yielding_sessions: [{ pid: 7 }] })).toBe(
    "1 session yields the processor (SCHED_IDLE): pid 7",
  );
  expect(yieldingText({ yields: true, means: "SCHED_IDLE" })).toBe("No session yields the processor now (SCHED_IDLE)");
});

test("that batch work does not yield is told with the reason", () => {
  expect(yieldingText({ means: "CAP_SYS_NICE is missing" })).toBe("Batch work does not yield: CAP_SYS_NICE is missing");
});

test("who was raised is told with whom it is for", () => {
  expect(
    raisedTexts({
      raised: "3",
      raised_sessions: [{ session: session(1), waiter: { pid: 99, application_name: "orders-api" } }, { session: session(2) }],
    }),
  ).toEqual([
    "Raised: pid 1 backfill-1 (role etl), for pid 99 orders-api",
    "Raised: pid 2 backfill-2 (role etl), as it got next to no processor",
    "Raised: 1 more",
  ]);
  expect(raisedTexts({})).toEqual([]);
});

test("what bounds them is told, the most first", () => {
  expect(workText({ recent_work: { processor: 1.5, disk: 8, locks: 0.5, other: 0.01 } })).toBe(
    "Of late at work: 80 % disk, 15 % processor, 5 % locks",
  );
  expect(workText({ recent_work: { disk: 0.01 } })).toBe("");
  expect(workText({})).toBe("");
});
