// How much was held back: the time that Checks waited, all added up, and how many were denied.
import type { Schemas } from "../api/client";
import { plural, seconds, span } from "./format";

export interface Held {
  waitedS: number;
  denied: number;
}

type Counted = Pick<Schemas["LogSum"], "waiting" | "denied">;

export const heldOf = ({ waiting, denied }: Counted): Held => ({ waitedS: seconds(waiting?.waited) ?? 0, denied: Number(denied ?? 0) });
export const plus = (a: Held, b: Held): Held => ({ waitedS: a.waitedS + b.waitedS, denied: a.denied + b.denied });
export const NOTHING: Held = { waitedS: 0, denied: 0 };

// As the server sorts: a denial counts as a second, as whoever is denied has to come back.
export const weightOf = ({ waitedS, denied }: Held) => waitedS + denied;

// "waited 3 min 5 s, 12 denials".
export function heldText({ waitedS, denied }: Held): string {
  return [...(waitedS > 0 ? [`waited ${span(waitedS)}`] : []), ...(denied > 0 || waitedS === 0 ? [plural(denied, "denial")] : [])].join(", ");
}

// The larger of the share of Checks that was denied and the share of `timeS` in which somebody waited, 0 to 1.
// undefined: nobody asked, and nobody waited.
export function heldShare(sum: Schemas["LogSum"], timeS: number): number | undefined {
  const { denied } = heldOf(sum);
  const checks = denied + Number(sum.allowed ?? 0) + Number(sum.would_be_denied ?? 0);
  const heldS = seconds(sum.waiting?.held) ?? 0;
  if (checks === 0 && heldS === 0) return undefined;
  return Math.max(checks > 0 ? denied / checks : 0, Math.min(1, heldS / timeS));
}
