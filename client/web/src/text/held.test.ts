import { expect, test } from "vitest";
import { heldOf, heldShare, heldText, plus, weightOf } from "./held";

const waiting = { waited: "185s", held: "45s" };

test("what waited and what was denied are both said, and neither hides the other", () => {
  expect([{ denied: "12", waiting }, { waiting }, { denied: "1" }, {}].map((sum) => heldText(heldOf(sum)))).toEqual(
    ["waited 3 min 5 s, 12 denials", "waited 3 min 5 s", "1 denial", "0 denials"]);
});

test("a denial weighs a second of waiting", () => {
  expect(weightOf(plus(heldOf({ waiting }), heldOf({ denied: "15" })))).toBe(200);
});

test("the share is that of the Checks or that of the time, whichever is larger", () => {
  expect(heldShare({ allowed: "9", denied: "1", waiting }, 60)).toBe(0.75);
  expect(heldShare({ would_be_denied: "1", denied: "9", waiting }, 60)).toBe(0.9);
  expect(heldShare({ waiting }, 30)).toBe(1);
  expect([heldShare({ allowed: "3" }, 60), heldShare({}, 60)]).toEqual([0, undefined]);
});
