// Thousands that are held back are a few: by target, root and cause.
import type { Schemas } from "../../api/client";
import { causeKey, type Cause } from "../../text/cause";
import { heldOf, NOTHING, plus, weightOf, type Held } from "../../text/held";

export type Interval = Schemas["ThrottledInterval"];

export interface Group {
  key: string;
  target: string;
  root: string; // empty: each of its identities has a root of its own
  cause: Cause; // the one that held back most
  intervals: Interval[]; // in the order that they came in
  identities: number;
  held: Held;
  from: string;
  to: string;
}

const RECENT_MS = 30_000;
export const isRecent = (to: string | undefined, asOf: number) => asOf - Date.parse(to ?? "") < RECENT_MS;

const rootOf = (identity: string) => identity.split(":").at(-1)!;

// Those that are held back now come first, then those that were held back most.
export function groupsOf(intervals: readonly Interval[], asOf: number): Group[] {
  const groups = new Map<string, Group>();
  for (const interval of intervals) {
    const { identity = "", target = "", from = "", to = "" } = interval;
    const cause: Cause = interval.causes?.[0] ?? {};
    const root = rootOf(identity);
    const key = [target, root, causeKey(cause)].join("\n");
    const group = groups.get(key) ?? { key, target, root, cause, intervals: [], identities: 0, held: NOTHING, from, to };
    groups.set(key, group);
    group.intervals.push(interval);
    group.held = plus(group.held, heldOf(interval));
    if (Date.parse(from) < Date.parse(group.from)) group.from = from;
    if (Date.parse(to) > Date.parse(group.to)) group.to = to;
  }
  for (const group of groups.values()) group.identities = new Set(group.intervals.map(({ identity }) => identity)).size;
  return merged([...groups.values()], asOf).sort((a, b) => Date.parse(b.to) - Date.parse(a.to) || weightOf(b.held) - weightOf(a.held));
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
    const into = all.get(key) ?? { ...group, key, root: "", intervals: [], identities: 0, held: NOTHING };
    all.set(key, into);
    into.intervals.push(...group.intervals);
    into.identities += group.identities;
    into.held = plus(into.held, group.held);
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

// Who of a group was held back more than half of what all of it was; undefined: nobody.
export function mostOf(group: Group): { identity: string; held: Held } | undefined {
  const all = new Map<string, Held>();
  for (const interval of group.intervals) {
    const identity = interval.identity ?? "";
    all.set(identity, plus(all.get(identity) ?? NOTHING, heldOf(interval)));
  }
  const [identity, held] = [...all].reduce((before, one) => (weightOf(one[1]) > weightOf(before[1]) ? one : before), ["", NOTHING]);
  return all.size > 1 && weightOf(held) > weightOf(group.held) / 2 ? { identity, held } : undefined;
}

export interface Count {
  identities: number;
  held: Held;
}

// How much was held back in all, of each group, as the log has it by identity and cause. Empty where it was not asked.
export function countsOf(sums: readonly Schemas["LogSum"][]): Map<string, Count> {
  const counts = new Map<string, Count>();
  for (const sum of sums) {
    const key = [sum.target ?? "", rootOf(sum.identity ?? ""), causeKey(sum)].join("\n");
    const count = counts.get(key) ?? { identities: 0, held: NOTHING };
    counts.set(key, { identities: count.identities + 1, held: plus(count.held, heldOf(sum)) });
  }
  return counts;
}
