// Thousands that are held back are a few: by target, root and cause.
import type { Schemas } from "../../api/client";
import { causeKey, type Cause } from "../../text/cause";

export type Interval = Schemas["ThrottledInterval"];

export interface Group {
  key: string;
  target: string;
  root: string;
  cause: Cause; // the one of most denials
  intervals: Interval[]; // in the order that they came in
  identities: number;
  denied: number;
  from: string;
  to: string;
}

const rootOf = (identity: string) => identity.split(":").at(-1)!;

// Those that are held back now come first, then those with most denials.
export function groupsOf(intervals: readonly Interval[]): Group[] {
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
  return [...groups.values()].sort((a, b) => Date.parse(b.to) - Date.parse(a.to) || b.denied - a.denied);
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
