// What a target's health comes to, in one word and one sentence.
import type { Schemas } from "../api/client";
import type { Tone } from "../ui/parts";
import { percent, seconds, sentence } from "./format";

export type TargetStatus = Schemas["TargetStatus"];
export type Health = Schemas["Health"];

export type Condition = Schemas["Condition"];

export interface Verdict {
  word: string;
  tone: Tone;
  rank: number; // the worst has the highest
  sentence: string;
  signal: string; // the binding one
  pressure: number;
  speed: number;
  forS: number | undefined; // for how long it has been so
}

// The API leaves out what is 0, and writes Infinity as a text.
export const numberOf = (value: unknown) => Number(value ?? 0);

// By the name that the API has for it: a word for it, and how bad it is. What is not known is nothing to rely on.
const KINDS: Record<string, [string, Tone, number]> = {
  UNMEASURED: ["not measured", "quiet", 0],
  HEALTHY: ["healthy", "good", 1],
  RECOVERING: ["recovering", "warn", 2],
  STANDBY_MISSING: ["standby missing", "warn", 3],
  SLOWED: ["slowed", "warn", 4],
  WARMING: ["warming", "warn", 5],
  STALE: ["stale", "bad", 6],
  SHUT: ["shut", "bad", 7],
};
export const RANK = Object.fromEntries(Object.entries(KINDS).map(([kind, [, , rank]]) => [kind, rank]));

// What the server says a profile or a target comes to; `health` is that of its profile.
export function verdictOf(condition: Condition | undefined, health: Health | undefined): Verdict {
  const kind = (condition?.kind ?? "").replace("CONDITION_KIND_", "");
  const [name, tone, rank] = KINDS[kind] ?? ["unknown", "warn", 5];
  const speed = health ? numberOf(health.speed) : 1;
  return {
    word: kind === "SLOWED" ? `slowed to ${percent(speed)}` : kind === "RECOVERING" ? `recovering, ${percent(speed)}` : name,
    tone,
    rank,
    sentence: sentence(condition?.message ?? ""),
    signal: condition?.signal ?? "",
    pressure: numberOf(health?.pressure),
    speed,
    forS: seconds(condition?.since),
  };
}

// A target is what the server says that it comes to: the worst of the profiles in use.
export function targetVerdict({ condition, profiles = [], default_health }: TargetStatus): Verdict {
  const named = condition?.profile || default_health;
  return verdictOf(condition, profiles.find(({ profile }) => profile === named) ?? profiles[0]);
}

// Where a reading stands on a bar on which soft and hard are always at the same places.
export const SOFT_AT = 0.6;
export const HARD_AT = 0.9;
export function placeOnBar(value: number, soft: number, hard: number): number {
  if (value <= soft) return soft > 0 ? Math.max(0, (value / soft) * SOFT_AT) : value === soft ? SOFT_AT : 0;
  if (value <= hard) return SOFT_AT + ((value - soft) / (hard - soft)) * (HARD_AT - SOFT_AT);
  return Math.min(1, HARD_AT + ((value - hard) / (hard - soft)) * (1 - HARD_AT));
}
