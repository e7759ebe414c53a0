import { expect, test } from "vitest";
import { tagOfSplit, tagsOf, tagText } from "./tags";

test("tags are read as they are typed", () => {
  expect(tagsOf("tenant=acme, region = eu ,")).toEqual({ tenant: "acme", region: "eu" });
  expect(tagsOf("note=a=b")).toEqual({ note: "a=b" });
  expect(tagsOf("")).toEqual({});
  expect(tagText({ tenant: "acme", region: "eu" })).toBe("tenant=acme, region=eu");
  expect([tagsOf("tenant"), tagsOf("=acme")]).toEqual([undefined, undefined]);
});

test("only what is split by a tag names one", () => {
  expect(["tag tenant", "depth 2", "none", undefined].map(tagOfSplit)).toEqual(["tenant", "", "", ""]);
});
