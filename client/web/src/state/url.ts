// What is looked at is in the address, so that it can be sent to somebody: ?view=who&identity=etl&range=6h.
import { useSyncExternalStore } from "preact/compat";

export type View = "now" | "who" | "explain" | "force" | "whatif";
const VIEWS: readonly View[] = ["now", "who", "explain", "force", "whatif"];

export interface Place {
  view: View;
  target: string;
  identity: string; // this level and everything below it
  segment: string;
  range: string; // "1h" back from now, or "2026-03-01T06:00:00Z/2026-03-01T07:00:00Z"
  q: string; // what a table is searched for
  sort: string; // "denied" or "-denied"
  page: number; // from 0
  // Of the Check that is explained, as they were typed: a number, and "tenant=acme, region=eu".
  cost: string;
  pattern: string;
  tags: string;
}

export const HOME: Place = {
  view: "now",
  target: "",
  identity: "",
  segment: "",
  range: "1h",
  q: "",
  sort: "",
  page: 0,
  cost: "",
  pattern: "",
  tags: "",
};

export function readPlace(search: string): Place {
  const params = new URLSearchParams(search);
  const view = params.get("view") as View;
  const page = Number(params.get("page") ?? 1);
  const text = (name: keyof Place) => params.get(name) ?? String(HOME[name]);
  return {
    view: VIEWS.includes(view) ? view : "now",
    target: text("target"),
    identity: text("identity"),
    segment: text("segment"),
    range: rangeMs(text("range")) === undefined && !isPeriod(text("range")) ? HOME.range : text("range"),
    q: text("q"),
    sort: text("sort"),
    page: Number.isInteger(page) && page > 0 ? page - 1 : 0,
    cost: text("cost"),
    pattern: text("pattern"),
    tags: text("tags"),
  };
}

export function writePlace(place: Place): string {
  const params = new URLSearchParams();
  for (const name of ["view", "target", "identity", "segment", "range", "q", "sort", "cost", "pattern", "tags"] as const) {
    if (place[name] !== HOME[name]) params.set(name, place[name]);
  }
  if (place.page > 0) params.set("page", String(place.page + 1));
  const text = params.toString();
  return text ? `/?${text}` : "/";
}

const STEP_MS = 10_000;
const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

// More than this is not looked at, whatever a link says: what is shown has a point for each day.
const LONGEST_MS = 366 * 86_400_000;

// Of "15m", "6h", "7d"; undefined: it is none of those.
export function rangeMs(range: string): number | undefined {
  const match = /^([1-9]\d{0,3})([mhd])$/.exec(range);
  const ms = match ? Number(match[1]) * UNITS[match[2]!]! : Infinity;
  return ms <= LONGEST_MS ? ms : undefined;
}

export function isPeriod(range: string): boolean {
  const [from, to, more] = range.split("/");
  return more === undefined && Date.parse(from ?? "") < Date.parse(to ?? "");
}

// Whether nothing is added to it any more.
export const isPast = (range: string, nowMs: number) => isPeriod(range) && Date.parse(range.split("/")[1]!) < nowMs - UNITS["m"]!;

// Without `to` it goes on until now. In whole steps of ten seconds, as the log has them: so that all pages ask the same.
export function periodOf(range: string, nowMs: number): { from: string; to?: string } {
  const whole = (ms: number) => new Date(Math.floor(ms / STEP_MS) * STEP_MS).toISOString();
  if (!isPeriod(range)) return { from: whole(nowMs - (rangeMs(range) ?? UNITS["h"]!)) };
  const [from, to] = range.split("/").map((text) => Date.parse(text)) as [number, number];
  const end = Math.min(to, nowMs);
  const begin = Math.max(Math.min(from, end - STEP_MS), end - LONGEST_MS);
  return to > nowMs ? { from: whole(begin) } : { from: whole(begin), to: new Date(end).toISOString() };
}

const listeners = new Set<() => void>();
let place = readPlace(globalThis.location?.search ?? "");

function changed() {
  for (const listener of listeners) listener();
}

// Goes there. `replace` leaves no step back behind: for what is typed.
export function go(change: Partial<Place>, replace = false) {
  const next = { ...place, ...change };
  const url = writePlace(next);
  if (replace) history.replaceState(null, "", url);
  else if (url !== writePlace(place)) history.pushState(null, "", url);
  place = next;
  changed();
}

export function usePlace(): Place {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => place,
  );
}

globalThis.addEventListener?.("popstate", () => {
  place = readPlace(location.search);
  changed();
});
