// The heat strip: how much an identity was held back, over time.
import type { Schemas } from "../../api/client";
import { percent } from "../../text/format";
import { heldShare } from "../../text/held";
import { coveredS, stepsOf } from "./steps";

type Sum = Schemas["LogSum"];

// For each identity the share of each step in which it was held back; -1 where it asked nothing.
export function stripsOf(sums: readonly Sum[], fromMs: number, toMs: number, stepS: number): Map<string, number[]> {
  const steps = stepsOf(fromMs, toMs, stepS);
  const strips = new Map<string, number[]>();
  for (const sum of sums) {
    const identity = sum.identity ?? "";
    const strip = strips.get(identity) ?? Array<number>(steps.length).fill(-1);
    strips.set(identity, strip);
    const at = Date.parse(sum.from ?? "") / 1000;
    const place = Math.round((at - steps[0]!) / stepS);
    if (place >= 0 && place < steps.length) strip[place] = heldShare(sum, coveredS(at, fromMs, toMs, stepS)) ?? -1;
  }
  return strips;
}

// Stretches that are alike are one box: an hour of calm is not sixty elements.
export function runsOf(strip: readonly number[]): { start: number; length: number; level: number }[] {
  const runs: { start: number; length: number; level: number }[] = [];
  strip.forEach((share, i) => {
    const level = share < 0 ? -1 : Math.ceil(share * 4);
    const last = runs.at(-1);
    if (last && last.level === level) ++last.length;
    else runs.push({ start: i, length: 1, level });
  });
  return runs.filter((run) => run.level >= 0);
}

// `shares` is one of stripsOf; undefined while there is none.
export function HeatStrip({ shares }: { shares: readonly number[] | undefined }) {
  if (!shares) return <span class="muted">–</span>;
  const steps = shares.length;
  const worst = shares.reduce((most, share) => Math.max(most, share), 0);
  return (
    <div class="strip" role="img" aria-label={`Over time: at most ${percent(worst)} held back`}>
      {runsOf(shares).map((run) => (
        <i
          key={run.start}
          class={`heat${run.level}`}
          style={{ left: `${(100 * run.start) / steps}%`, width: `${(100 * run.length) / steps}%` }}
        />
      ))}
    </div>
  );
}
