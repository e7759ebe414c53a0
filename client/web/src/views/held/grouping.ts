// Thousands that are held back are a few: by target, root and cause.
import type { Schemas } from "../../api/client";
import { causeKey, type Cause } from "../../text/cause";

export type Interval = Schemas["ThrottledInterval"];

export interface Group {
  key: string;
  target: string;
  root: string; // empty: each of its identities has a root of its own
  cause: Cause; // the one of most denials
  intervals: Interval[]; // in the order that they came in
  identities: number;
  denied: number;
  from: string;
  to: string;
}

const RECENT_MS = 30_000;
export const isRecent = (to: string | undefined, asOf: number) => asOf - Date.parse(to ?? "") < RECENT_MS;

const rootOf = (identity: string) => identity.split(":").at(-1)!;

// Those that are held back now come first, then those with most denials.
export function groupsOf(intervals: readonly Interval[], asOf: number): Group[] {
  const groups = new Map<string, Group>();
  for (const interval of intervals) {
    const { identity = "", target = "", from = "", to = "" } = interval;
    const cause: Cause = interval.causes?.[0] ?? {};
    const root = rootOf(identity);
    const key = [target, root, causeKey(cause)].join("\n");
    const group = groups.get(key) ?? { key, target, root, cause, intervals: [], identities: 0, denied: 0, from, to };
    groups.set(key, group);
    group.intervals.push(interval);
    group.denied += Number(interval.denied ?? 0);
    if (Date.parse(from) < Date.parse(group.from)) group.from = from;
    if (Date.parse(to) > Date.parse(group.to)) group.to = to;
  }
  for (const group of groups.values()) group.identities = new Set(group.intervals.map(({ identity }) => identity)).size;
  return merged([...groups.values()], asOf).sort((a, b) => Date.parse(b.to) - Date.parse(a.to) || b.denied - a.denied);
}

// Roots of one identity each, as where identities have one segment, are a group where there are many of one cause. Those
// that are held back now are another one than those that were.
const MANY_ROOTS = 8;
function merged(groups: readonly Group[], asOf: number): Group[] {
  const keyOf = (group: Group) => [group.target, "", causeKey(group.cause), isRecent(group.to, asOf)].join("\n");
  const single = groups.filter(({ identities }) => identities === 1);
  const counts = new Map<string, number>();
  for (const group of single) counts.set(keyOf(group), (counts.get(keyOf(group)) ?? 0) + 1);
  const isMerged = (group: Group) => group.identities === 1 && counts.get(keyOf(group))! > MANY_ROOTS;
  const all = new Map<string, Group>();
  for (const group of groups.filter(isMerged)) {
    const key = keyOf(group);
    const into = all.get(key) ?? { ...group, key, root: "", intervals: [], identities: 0, denied: 0 };
    all.set(key, into);
    into.intervals.push(...group.intervals);
    into.identities += group.identities;
    into.denied += group.denied;
    if (Date.parse(group.from) < Date.parse(into.from)) into.from = group.from;
    if (Date.parse(group.to) > Date.parse(into.to)) into.to = group.to;
  }
  return [...groups.filter((group) => !isMerged(group)), ...all.values()];
}

// The newest interval of each that is held back, and how many came before it. In the order of what is given.
export function newestOf(intervals: readonly Interval[]): { interval: Interval; earlier: number }[] {
  const all = new Map<string, { interval: Interval; earlier: number }>();
  for (const interval of intervals) {
    const key = `${interval.target}\n${interval.identity}`;
    const known = all.get(key);
    if (!known) all.set(key, { interval, earlier: 0 });
    else ++known.earlier;
  }
  return [...all.values()];
}

// Who of a group was denied more than half of what all of it was; empty: nobody.
export function mostOf(group: Group): { identity: string; denied: number } | undefined {
  const denied = new Map<string, number>();
  for (const { identity = "", denied: count } of group.intervals) denied.set(identity, (denied.get(identity) ?? 0) + Number(count ?? 0));
  const [identity, most] = [...denied].reduce((before, one) => (one[1] > before[1] ? one : before), ["", 0]);
  return denied.size > 1 && most > group.denied / 2 ? { identity, denied: most } : undefined;
}

export interface Count {
  identities: number;
  denied: number;
}

// How many were denied in all, of each group, as the log has it by identity and cause. Empty where it was not asked.
export function countsOf(sums: readonly Schemas["LogSum"][]): Map<string, Count> {
  const counts = new Map<string, Count>();
  for (const sum of sums) {
    const key = [sum.target ?? "", rootOf(sum.identity ?? ""), causeKey(sum)].join("\n");
    const count = counts.get(key) ?? { identities: 0, denied: 0 };
    counts.set(key, count);
    ++count.identities;
    count.denied += Number(sum.denied ?? 0);
  }
  return counts;
}
