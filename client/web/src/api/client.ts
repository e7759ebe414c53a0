// The API as everybody has it: POST /v1/METHOD with JSON. Nothing here is the page's own.
import { clock } from "../state/clock";
import type { components } from "./schema";

export type Schemas = components["schemas"];

// What each method that the page calls takes and gives.
export interface Methods {
  get_status: [Schemas["GetStatusRequest"], Schemas["GetStatusResponse"]];
  get_configuration: [Schemas["GetConfigurationRequest"], Schemas["GetConfigurationResponse"]];
  list_budgets: [Schemas["ListBudgetsRequest"], Schemas["ListBudgetsResponse"]];
  list_buckets: [Schemas["ListBucketsRequest"], Schemas["ListBucketsResponse"]];
  list_leases: [Schemas["ListLeasesRequest"], Schemas["ListLeasesResponse"]];
  list_rules: [Schemas["ListRulesRequest"], Schemas["ListRulesResponse"]];
  list_overrides: [Schemas["ListOverridesRequest"], Schemas["ListOverridesResponse"]];
  list_override_events: [Schemas["ListOverrideEventsRequest"], Schemas["ListOverrideEventsResponse"]];
  create_override: [Schemas["CreateOverrideRequest"], Schemas["CreateOverrideResponse"]];
  delete_override: [Schemas["DeleteOverrideRequest"], Schemas["DeleteOverrideResponse"]];
  query_throttle_log: [Schemas["QueryThrottleLogRequest"], Schemas["QueryThrottleLogResponse"]];
  list_throttled_intervals: [
    Schemas["ListThrottledIntervalsRequest"],
    Schemas["ListThrottledIntervalsResponse"],
  ];
  list_denials: [Schemas["ListDenialsRequest"], Schemas["ListDenialsResponse"]];
  replay_throttle_log: [Schemas["ReplayThrottleLogRequest"], Schemas["ReplayThrottleLogResponse"]];
  explain: [Schemas["ExplainRequest"], Schemas["ExplainResponse"]];
  forgive_debt: [Schemas["ForgiveDebtRequest"], Schemas["ForgiveDebtResponse"]];
}
export type Method = keyof Methods;
export type RequestOf<M extends Method> = Methods[M][0];
export type ResponseOf<M extends Method> = Methods[M][1];

// Why a call failed. `status` is HTTP's; 0: nobody answered.
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly reason = "",
    // Of whoever is known and lacks a grant.
    readonly caller = "",
    readonly missing = "",
    readonly retryAfterMs = 0,
  ) {
    super(message);
  }
  get isUnknownCaller() {
    return this.status === 401;
  }
  get isRefusal() {
    return this.status === 403;
  }
}

interface RpcStatus {
  message?: string;
  details?: { reason?: string; metadata?: Record<string, string> }[];
}

function errorFrom(status: number, body: RpcStatus, retryAfterS: number, text = ""): ApiError {
  const info = body.details?.find((detail) => detail.reason !== undefined);
  return new ApiError(
    status,
    body.message ?? (text.trim().slice(0, 300) || `the server answered ${status}`),
    info?.reason,
    info?.metadata?.["caller"],
    info?.metadata?.["missing"],
    1000 * retryAfterS,
  );
}

export function errorOf(status: number, text: string, retryAfter: string | null): ApiError {
  let body: RpcStatus = {};
  try {
    body = JSON.parse(text) as RpcStatus;
  } catch {
    // Not the API's own: a proxy's, or the server is starting.
  }
  return errorFrom(status, body, Number(retryAfter ?? 0), text);
}

// One of several questions that go in one request.
export interface Question {
  readonly method: Method;
  readonly request: unknown;
}
// That many at most.
export const MOST_QUESTIONS = 8;
interface BatchAnswer {
  status: number;
  retry_after?: number;
  body: unknown;
}

// Calls with a token, or without. The token lives in this object and nowhere else: what a browser
// stores for a tab it may write to disk, and what it sends by itself another site can make it send.
export class Api {
  private token = "";
  constructor(private readonly fetcher: typeof fetch = (...args) => fetch(...args)) {}

  get hasToken() {
    return this.token !== "";
  }
  setToken(token: string) {
    this.token = token.trim();
  }

  async call<M extends Method>(
    method: M,
    request: RequestOf<M>,
    options: { signal?: AbortSignal; timeoutMs?: number } = {},
  ): Promise<ResponseOf<M>> {
    const response = await this.send(`/v1/${method}`, "POST", options, JSON.stringify(request));
    const text = await response.text();
    // A Check that is denied is an answer; the page makes none.
    if (!response.ok) throw errorOf(response.status, text, response.headers.get("Retry-After"));
    return JSON.parse(text) as ResponseOf<M>;
  }

  // Asks all of them in one request. Each has its own outcome, in their order.
  async readAll(questions: readonly Question[], options: { signal?: AbortSignal } = {}): Promise<(ApiError | { data: unknown })[]> {
    const calls = questions.map(({ method, request }) => ({ [method]: request }));
    const response = await this.send("/v1/batch_read", "POST", options, JSON.stringify({ calls }));
    const text = await response.text();
    if (!response.ok) throw errorOf(response.status, text, response.headers.get("Retry-After"));
    const { answers } = JSON.parse(text) as { answers: BatchAnswer[] };
    return answers.map(({ status, body, retry_after }) =>
      status === 200 ? { data: body } : errorFrom(status, body as RpcStatus, retry_after ?? 0),
    );
  }

  // Whether this page may call the method at all; else why not. What its reader may do is said by each call.
  async refusalOf(method: Method): Promise<ApiError | undefined> {
    const response = await this.send(`/v1/${method}`, "OPTIONS", {});
    return response.ok ? undefined : errorOf(response.status, await response.text(), null);
  }

  private async send(
    path: string,
    verb: string,
    { signal, timeoutMs = 10_000 }: { signal?: AbortSignal; timeoutMs?: number },
    body?: string,
  ): Promise<Response> {
    const limit = AbortSignal.timeout(timeoutMs);
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    if (this.token) headers["Authorization"] = `Bearer ${this.token}`;
    const sentAt = performance.now();
    try {
      const response = await this.fetcher(path, {
        method: verb,
        headers,
        body: body ?? null,
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
        cache: "no-store",
        credentials: "same-origin",
        redirect: "error",
      });
      clock.hear(response.headers.get("Date"), sentAt, performance.now());
      return response;
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError(
        0,
        limit.aborted ? `no answer within ${timeoutMs / 1000} s` : "the server cannot be reached",
      );
    }
  }
}
