// What the tab and a shared link are called: what is looked at first, then where.
import type { Place } from "../state/url";
import { isPeriod } from "../state/url";
import { visible } from "./format";

const NAMES: Record<Place["view"], string> = { now: "Now", who: "Who", explain: "Explain", force: "In force", whatif: "What if" };
export const nameOf = (view: Place["view"]) => NAMES[view];

// "2026-03-01 06:00 to 07:00 UTC", or "last 15m".
export function rangeText(range: string): string {
  if (!isPeriod(range)) return `last ${range}`;
  const [from, to] = range.split("/").map((at) => new Date(at).toISOString().slice(0, 16).replace("T", " ")) as [string, string];
  const isOneDay = from.slice(0, 10) === to.slice(0, 10);
  return `${from} to ${isOneDay ? to.slice(11) : to} UTC`;
}

export function titleOf(place: Place): string {
  const { view, target, identity, segment, range } = place;
  const on = target && ` on ${target}`;
  const whose = identity || (segment && `segment ${segment}`);
  const what = {
    now: target,
    who: `${whose || "Everybody"}${on}, ${rangeText(range)}`,
    explain: identity && `${identity}${on}`,
    force: target,
    whatif: [whose ? `${whose}${on}` : target, rangeText(range)].filter(Boolean).join(", "),
  }[view];
  return visible([what, nameOf(view), "Headgate"].filter(Boolean).join(" · "));
}
