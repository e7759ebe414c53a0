// What a target's health comes to, in one word and one sentence.
import type { Schemas } from "../api/client";
import type { Tone } from "../ui/parts";
import { percent, span, seconds } from "./format";

export type TargetStatus = Schemas["TargetStatus"];
export type Health = Schemas["Health"];

export interface Verdict {
  word: string;
  tone: Tone;
  rank: number; // the worst has the highest
  sentence: string;
  signal: string; // the binding one
  pressure: number;
  speed: number;
}

// The API leaves out what is 0, and writes Infinity as a text.
export const numberOf = (value: unknown) => Number(value ?? 0);

export function verdictOf(health: Health): Verdict {
  const speed = numberOf(health.speed);
  const pressure = numberOf(health.pressure);
  const signal = health.signal ?? "";
  const age = health.sample_age ? `the newest sample is ${span(seconds(health.sample_age)!)} old` : "there is no sample";
  const of = { signal, pressure, speed };
  switch (health.state) {
    case "HEALTH_STATE_UNMONITORED":
      return { ...of, word: "not measured", tone: "quiet", rank: 0, sentence: "Nothing measures this profile." };
    case "HEALTH_STATE_WARMING":
      return { ...of, word: "warming", tone: "warn", rank: 3, sentence: "There has been no sample yet." };
    case "HEALTH_STATE_STALE":
      return { ...of, word: "stale", tone: "bad", rank: 5, sentence: `${signal ? `${signal} cannot be read, or its reading is too old` : "What is known is too old"}: ${age}.` };
  }
  if (pressure >= 1) {
    return { ...of, word: "shut", tone: "bad", rank: 6, sentence: `The gate is shut by ${signal}.` };
  }
  if (pressure > 0 && speed < 1) {
    return {
      ...of,
      word: `slowed to ${percent(speed)}`,
      tone: "warn",
      rank: 4,
      sentence: `Budgets drain at ${percent(speed)}, because of ${signal}.`,
    };
  }
  if (speed < 1) {
    const sentence = `Budgets drain at ${percent(speed)}: the pressure is gone, and speed recovers.`;
    return { ...of, word: `recovering, ${percent(speed)}`, tone: "warn", rank: 2, sentence };
  }
  return { ...of, word: "healthy", tone: "good", rank: 1, sentence: "No signal is above its soft threshold." };
}

// A target is what its worst profile is, which is named where it is not the default one: that its gate is shut is not
// hidden by another that is open.
export function targetVerdict(target: TargetStatus): Verdict {
  const isDefault = (health: Health) => Number(health.profile === target.default_health);
  const verdicts = [...(target.profiles ?? [])]
    .sort((a, b) => isDefault(b) - isDefault(a))
    .map((health) => ({ ...verdictOf(health), health }))
    .sort((a, b) => b.rank - a.rank);
  const [worst] = verdicts;
  if (worst && verdicts.length > 1 && worst.rank > 1 && !isDefault(worst.health)) {
    return { ...worst, sentence: `Health profile ${worst.health.profile}: ${worst.sentence}` };
  }
  return (
    worst ?? {
      word: "not measured",
      tone: "quiet",
      rank: 0,
      sentence: "No health profile applies here: budgets run in real time.",
      signal: "",
      pressure: 0,
      speed: 1,
    }
  );
}

// Where a reading stands on a bar on which soft and hard are always at the same places.
export const SOFT_AT = 0.6;
export const HARD_AT = 0.9;
export function placeOnBar(value: number, soft: number, hard: number): number {
  if (value <= soft) return soft > 0 ? Math.max(0, (value / soft) * SOFT_AT) : value === soft ? SOFT_AT : 0;
  if (value <= hard) return SOFT_AT + ((value - soft) / (hard - soft)) * (HARD_AT - SOFT_AT);
  return Math.min(1, HARD_AT + ((value - hard) / (hard - soft)) * (1 - HARD_AT));
}
