// What was allowed and denied over time, and how many waited. Dragging over a stretch narrows the range down to it, and so
// does typing where it begins and ends.
import type { Schemas } from "../../api/client";
import { useLive } from "../../state/live";
import { number, seconds, span } from "../../text/format";
import { numberOf } from "../../text/health";
import { heldOf, NOTHING, plus } from "../../text/held";
import { Card, Loaded } from "../../ui/parts";
import type { Filter } from "../log_filter";
import { Plot, type Series } from "./plot";
import { coveredS, stepsOf, untilMs } from "./steps";
import { Stretch } from "./stretch";

type Sums = readonly Schemas["LogSum"][];

// One point for each step: what there is no sum of is 0. Denied is drawn below allowed. How many waited is the mean: the
// time that was waited by that of the step.
export function seriesOf(sums: Sums, fromMs: number, toMs: number, stepS: number): Series {
  const byStep = new Map(sums.map((sum) => [Date.parse(sum.from ?? "") / 1000, sum]));
  const at = stepsOf(fromMs, toMs, stepS);
  const denied = at.map((s) => numberOf(byStep.get(s)?.denied));
  const all = at.map((s, i) => {
    const sum = byStep.get(s);
    return numberOf(sum?.allowed) + numberOf(sum?.would_be_denied) + denied[i]!;
  });
  const waiting = at.map((s) => (seconds(byStep.get(s)?.waiting?.waited) ?? 0) / coveredS(s, fromMs, toMs, stepS));
  return [at, all, denied, waiting];
}

export function History({ filter, step, toMs, everyMs }: { filter: Filter; step: number; toMs: number; everyMs: number }) {
  const live = useLive("query_throttle_log", {
    filter,
    group_by: ["LOG_GROUP_STEP"],
    step: `${step}s`,
    page_size: 1000,
  }, everyMs);
  return (
    <Card
      title="Checks"
      id="history"
      wide
      aside={
        <span class="legend">
          {[["allowed", "allowed"], ["denied", "denied"], ["waiting", "waiting, in the mean"]].map(([key, name]) => (
            <span key={key} class="whole">
              <i class={`key ${key}`} /> {name}
            </span>
          ))}
        </span>
      }
    >
      <Loaded live={live}>
        {(data) => {
          const sums = data.sums ?? [];
          const total = (name: "allowed" | "would_be_denied" | "denied") => sums.reduce((all, sum) => all + numberOf(sum[name]), 0);
          const allowed = total("allowed") + total("would_be_denied");
          const waited = sums.map(heldOf).reduce(plus, NOTHING).waitedS;
          const longest = sums.reduce((most, sum) => Math.max(most, seconds(sum.waiting?.longest) ?? 0), 0);
          const fromMs = Date.parse(data.from ?? filter.from ?? "");
          return (
            <>
              <Plot data={seriesOf(sums, fromMs, untilMs(filter, live.at, toMs), step)} step={step} />
              <p class="muted">
                {number(allowed)} allowed, {number(total("denied"))} denied
                {waited > 0 && `, ${span(waited)} waited in all, one Check for ${span(longest)}`}, in steps of {span(step)}. Drag over the chart to narrow the time down, or type it in.
                {numberOf(data.waiting_checks) > 0 && ` ${number(data.waiting_checks)} Checks are not in the log's store yet.`}
              </p>
              <Stretch fromMs={fromMs} toMs={toMs} />
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}
