// What is on the screen, asked for again and again: once a second, or less often where an answer takes long, so
// that pages take no more than a tenth of one thread's time each. Nothing is asked while nobody can see it.
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { Api, ApiError, type Method, type RequestOf, type ResponseOf } from "../api/client";

// What is asked for less often than this is not what the page says the age of.
const LIVE_MS = 2000;

export interface Live<T> {
  data?: T;
  at?: number; // when the answer came, on performance.now()'s clock
  error?: ApiError; // of the newest try
}

// How long until the next try.
export function pauseAfter(everyMs: number, tookMs: number, failures: number, retryAfterMs = 0): number {
  if (failures > 0) return Math.max(retryAfterMs, Math.min(1000 * 2 ** (failures - 1), 5000));
  return Math.max(everyMs, 10 * tookMs) - tookMs;
}

// Whose answers are on the screen, for the word on how old they are.
class Freshness {
  private readonly polls = new Map<object, Live<unknown>>();
  set(poll: object, live: Live<unknown>) {
    this.polls.set(poll, live);
  }
  delete(poll: object) {
    this.polls.delete(poll);
  }
  // The oldest of them, and whether one could not be asked again; nothing: none is on the screen.
  read(): { at?: number; error?: ApiError } | undefined {
    const all = [...this.polls.values()];
    if (all.length === 0) return undefined;
    const times = all.flatMap((live) => (live.at === undefined ? [] : [live.at]));
    const error = all.find((live) => live.error && !live.error.isRefusal && live.error.status !== 400)?.error;
    return { ...(times.length > 0 && { at: Math.min(...times) }), ...(error && { error }) };
  }
}

// What all parts of the page share.
export class Session {
  readonly api = new Api();
  readonly freshness = new Freshness();
  // A caller that is not known: the page asks for a token.
  onUnknownCaller: (error: ApiError) => void = () => {};
  // Counts up whenever everything is to be asked again: a token was given, or something was changed.
  readonly listeners = new Set<() => void>();
  askAgain() {
    for (const listener of this.listeners) listener();
  }
}
export const SessionContext = createContext(new Session());
export const useSession = () => useContext(SessionContext);

// What is asked, whenever that is: a period that moves along with the time is another request, and the same question.
export const questionOf = (key: string) => key.replace(/"(from|to)":"[^"]*",?/g, "");

// Asks for as long as `request` is there. What was last answered stays while the next tries fail, and while the same
// is asked of a moment later.
export function useLive<M extends Method>(
  method: M,
  request: RequestOf<M> | undefined,
  everyMs = 1000,
): Live<ResponseOf<M>> {
  const session = useSession();
  const key = request === undefined ? undefined : JSON.stringify(request);
  const question = key === undefined ? undefined : questionOf(key);
  const [live, setLive] = useState<Live<ResponseOf<M>> & { question?: string }>({});
  const last = useRef(live);

  useEffect(() => {
    if (key === undefined) return;
    const poll = {};
    const ended = new AbortController();
    let timer = 0;
    let failures = 0;
    let running = false;
    let known: Live<ResponseOf<M>> = {};
    if (last.current.question === question) known = { ...last.current };
    if (everyMs <= LIVE_MS) session.freshness.set(poll, known);
    const tell = (next: Live<ResponseOf<M>>) => {
      known = next;
      if (everyMs <= LIVE_MS) session.freshness.set(poll, next);
      last.current = { ...next, ...(question !== undefined && { question }) };
      setLive(last.current);
    };
    const ask = async () => {
      clearTimeout(timer);
      if (running || document.hidden) return;
      running = true;
      const began = performance.now();
      let retryAfterMs = 0;
      try {
        const data = await session.api.call(method, JSON.parse(key) as RequestOf<M>, { signal: ended.signal });
        failures = 0;
        tell({ data, at: performance.now() });
      } catch (thrown) {
        if (ended.signal.aborted) return;
        const error = thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown));
        ++failures;
        retryAfterMs = error.retryAfterMs;
        if (error.isUnknownCaller) session.onUnknownCaller(error);
        // What somebody may not see any more is not kept.
        if (error.isRefusal) tell({ error, at: performance.now() });
        else tell({ ...(error.isUnknownCaller ? {} : known), error });
      } finally {
        running = false;
      }
      if (ended.signal.aborted) return;
      timer = window.setTimeout(ask, pauseAfter(everyMs, performance.now() - began, failures, retryAfterMs));
    };
    const askNow = () => {
      failures = 0;
      void ask();
    };
    document.addEventListener("visibilitychange", askNow);
    session.listeners.add(askNow);
    void ask();
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", askNow);
      session.listeners.delete(askNow);
      session.freshness.delete(poll);
    };
  }, [session, method, key, question, everyMs]);

  return live.question === question ? live : {};
}

// The time, every so often, for ages and countdowns.
export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

// Whether an element is on the screen, or nearly.
export function useOnScreen(): [(element: Element | null) => void, boolean] {
  const [element, setElement] = useState<Element | null>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!element) return;
    const observer = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting ?? false), {
      rootMargin: "200px",
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return [setElement, seen];
}
