// What is on the screen, asked for again and again, and how old it is.
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { Api, ApiError, type Method, type RequestOf, type ResponseOf } from "../api/client";
import { clock, serverNow } from "./clock";
import { Poll, Rounds } from "./rounds";

// What is asked for less often than this is not what the page says the age of.
const LIVE_MS = 2000;
// What is older than this is late.
const LATE_MS = 3000;

export interface Live<T> {
  data?: T;
  at?: number; // when the answer came, on performance.now()'s clock
  error?: ApiError; // of the newest try
}

// Whose answers are on the screen, for the word on how old they are.
export class Freshness {
  private readonly polls = new Map<unknown, Live<unknown>>();
  set(poll: unknown, live: Live<unknown>) {
    this.polls.set(poll, live);
  }
  delete(poll: unknown) {
    this.polls.delete(poll);
  }
  // The oldest of them, whether one is late, and whether one could not be asked again; nothing: none is on the screen.
  read(now = performance.now()): { at?: number; isLate: boolean; error?: ApiError } | undefined {
    const all = [...this.polls.values()];
    if (all.length === 0) return undefined;
    const times = all.flatMap((live) => (live.at === undefined ? [] : [live.at]));
    const error = all.find((live) => live.error && !live.error.isRefusal && live.error.status !== 400)?.error;
    const isLate = times.length === 0 || now - Math.min(...times) > LATE_MS;
    return { ...(times.length > 0 && { at: Math.min(...times) }), isLate, ...(error && { error }) };
  }
}

// What all parts of the page share.
export class Session {
  readonly api = new Api();
  readonly freshness = new Freshness();
  readonly rounds = new Rounds(this.api);
  // A caller that is not known: the page asks for a token.
  onUnknownCaller: (error: ApiError) => void = () => {};
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
    let known: Live<ResponseOf<M>> = {};
    if (last.current.question === question) known = { ...last.current };
    const tell = (next: Live<ResponseOf<M>>) => {
      known = next;
      if (everyMs <= LIVE_MS) session.freshness.set(poll, next);
      last.current = { ...next, ...(question !== undefined && { question }) };
      setLive(last.current);
    };
    const poll = new Poll(method, JSON.parse(key), everyMs, (outcome) => {
      if (!(outcome instanceof ApiError)) return tell({ data: outcome.data as ResponseOf<M>, at: performance.now() });
      if (outcome.isUnknownCaller) session.onUnknownCaller(outcome);
      // What somebody may not see any more is not kept.
      if (outcome.isRefusal) tell({ error: outcome, at: performance.now() });
      else tell({ ...(outcome.isUnknownCaller ? {} : known), error: outcome });
    });
    if (everyMs <= LIVE_MS) session.freshness.set(poll, known);
    session.rounds.add(poll);
    return () => {
      session.rounds.delete(poll);
      session.freshness.delete(poll);
    };
  }, [session, method, key, question, everyMs]);

  return live.question === question ? live : {};
}

// The server's time, every so often, for ages and countdowns.
export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setNow(serverNow()), everyMs);
    const deaf = clock.onMove(() => setNow(serverNow()));
    return () => {
      clearInterval(timer);
      deaf();
    };
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
