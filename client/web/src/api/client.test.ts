import { expect, test } from "vitest";
import { questionOf } from "../state/live";
import { Api, ApiError, errorOf } from "./client";

test("an error says who lacks what, and one that is not the API's is said as it is", () => {
  const body = { code: 7, message: "no", details: [{ "@type": "x" }, { reason: "R", metadata: { caller: "ann", missing: "logs" } }] };
  expect(errorOf(403, JSON.stringify(body), null)).toMatchObject({ message: "no", reason: "R", caller: "ann", missing: "logs", isRefusal: true });
  expect(errorOf(503, "the server is starting\n", "1")).toMatchObject({ message: "the server is starting", retryAfterMs: 1000 });
  expect(errorOf(502, "", null).message).toBe("the server answered 502");
});

test("the token goes with each call, and nothing else does", async () => {
  const seen: RequestInit[] = [];
  const api = new Api(async (_url, init) => {
    seen.push(init!);
    return new Response('{"version":"1"}');
  });
  expect(await api.call("get_status", {})).toEqual({ version: "1" });
  api.setToken(" secret\n");
  await api.call("get_status", {});
  expect(seen.map((init) => init.headers)).toEqual([
    { "Content-Type": "application/json" },
    { "Content-Type": "application/json", Authorization: "Bearer secret" },
  ]);
});

test("a server that cannot be reached is an error with status 0", async () => {
  const api = new Api(() => Promise.reject(new TypeError("refused")));
  await expect(api.call("get_status", {})).rejects.toMatchObject({ status: 0 } satisfies Partial<ApiError>);
});

test("several questions go in one request, and each has its own outcome", async () => {
  const seen: unknown[] = [];
  const answers = [
    { status: 200, body: { version: "1" } },
    { status: 403, body: { code: 7, message: "no" } },
    { status: 503, retry_after: 2, body: {} },
  ];
  const api = new Api(async (url, init) => {
    seen.push([url, JSON.parse(init!.body as string)]);
    return new Response(JSON.stringify({ answers }));
  });
  const [status, budgets, lines] = await api.readAll([
    { method: "get_status", request: { target: "a" } },
    { method: "list_budgets", request: {} },
    { method: "list_budgets", request: {} },
  ]);
  expect(seen).toEqual([["/v1/batch_read", { calls: [{ get_status: { target: "a" } }, { list_budgets: {} }, { list_budgets: {} }] }]]);
  expect(status).toEqual({ data: { version: "1" } });
  expect(budgets).toMatchObject({ isRefusal: true, message: "no" });
  expect(lines).toMatchObject({ status: 503, message: "the server answered 503", retryAfterMs: 2000 });
});

test("a question stays the same while its period moves along", () => {
  const ask = (from: string, identity: string) => questionOf(JSON.stringify({ filter: { from, identity }, page_size: 1 }));
  expect(ask("2026-03-01T06:00:00Z", "etl")).toBe(ask("2026-03-01T06:00:10Z", "etl"));
  expect(ask("2026-03-01T06:00:00Z", "etl")).not.toBe(ask("2026-03-01T06:00:00Z", "job"));
});
