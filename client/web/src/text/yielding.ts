// What an agent says of sessions that yield the processor, in sentences.
import type { Schemas } from "../api/client";
import { numberOf } from "./health";

type State = Schemas["AgentState"];
type Session = Schemas["AgentSession"];

// As many as are named; the rest is counted.
const SHOWN = 4;
// Seconds: below it shares say nothing.
const LEAST_WORK = 0.05;

// "pid 4711 backfill-7 (role etl)".
export function sessionText(session: Session): string {
  const name = session.application_name ? ` ${session.application_name}` : "";
  const role = session.role ? ` (role ${session.role})` : "";
  return `pid ${session.pid ?? 0}${name}${role}`;
}

// How many yield, by which means; or why none can.
export function yieldingText(state: State): string {
  if (!state.yields) return `Batch work does not yield: ${state.means ?? ""}`;
  const count = Number(state.yielding ?? 0);
  const means = state.means ? ` (${state.means})` : "";
  if (count === 0) return `No session yields the processor now${means}`;
  const named = (state.yielding_sessions ?? []).slice(0, SHOWN);
  const more = count - named.length;
  const list = named.length > 0 ? `: ${named.map(sessionText).join(", ")}${more > 0 ? ` and ${more} more` : ""}` : "";
  return `${count === 1 ? "1 session yields" : `${count} sessions yield`} the processor${means}${list}`;
}

// What sessions that yield were at of late, the most first; empty where they had nothing to do.
export function workText(state: State): string {
  const work = state.recent_work;
  const parts: [number, string][] = [
    [numberOf(work?.processor), "processor"],
    [numberOf(work?.disk), "disk"],
    [numberOf(work?.locks), "locks"],
    [numberOf(work?.standbys), "standbys"],
    [numberOf(work?.other), "other waits"],
  ];
  const all = parts.reduce((sum, [seconds]) => sum + seconds, 0);
  if (all < LEAST_WORK) return "";
  const shown = parts
    .sort(([a], [b]) => b - a)
    .map(([seconds, name]): [number, string] => [Math.round((100 * seconds) / all), name])
    .filter(([percent]) => percent >= 1);
  return `Of late at work: ${shown.map(([percent, name]) => `${percent} % ${name}`).join(", ")}`;
}

// Who does not, and for whom.
export function raisedTexts(state: State): string[] {
  const named = (state.raised_sessions ?? []).slice(0, SHOWN);
  const more = Number(state.raised ?? 0) - named.length;
  const texts = named.map(({ session, waiter }) => {
    const why = waiter ? `for ${sessionText(waiter)}` : "as it got next to no processor";
    return `Raised: ${sessionText(session ?? {})}, ${why}`;
  });
  return more > 0 ? [...texts, `Raised: ${more} more`] : texts;
}
