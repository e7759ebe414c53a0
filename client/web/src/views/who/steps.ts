// The steps of a time: each begins where a whole number of them has passed since 1970, so the first and the last are
// seldom whole.
import { clock } from "../../state/clock";
import type { Filter } from "../log_filter";

// Their beginnings, in seconds; at least one.
export function stepsOf(fromMs: number, toMs: number, stepS: number): number[] {
  const first = Math.floor(fromMs / 1000 / stepS) * stepS;
  const count = Math.max(1, Math.ceil((toMs / 1000 - first) / stepS));
  return Array.from({ length: count }, (_, i) => first + i * stepS);
}

// How much of a step lies within the time. Not less than a second: what was counted may be one late.
export const coveredS = (at: number, fromMs: number, toMs: number, stepS: number) =>
  Math.max(1, Math.min(at + stepS, toMs / 1000) - Math.max(at, fromMs / 1000));

// Until when an answer counts: a time that is not over ends when it was answered, not when the page last drew.
export const untilMs = (filter: Filter, answeredAt: number | undefined, toMs: number) =>
  filter.to || answeredAt === undefined ? toMs : Math.max(toMs, clock.now(answeredAt));
