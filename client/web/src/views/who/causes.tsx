// What Checks were denied by, or waited for, in a time: what held back most first.
import { useLive } from "../../state/live";
import { causeKey, causeText } from "../../text/cause";
import { number, percent } from "../../text/format";
import { heldOf, heldText, weightOf } from "../../text/held";
import { Card, Empty, Loaded, Meter, Name } from "../../ui/parts";
import type { Filter } from "../log_filter";

const SHOWN = 8;

export function Causes({ filter, everyMs }: { filter: Filter; everyMs: number }) {
  const live = useLive(
    "query_throttle_log",
    {
      filter: { ...filter, outcomes: ["OUTCOME_DENIED", "OUTCOME_WAITED"] },
      group_by: ["LOG_GROUP_REASON", "LOG_GROUP_BUDGET", "LOG_GROUP_RULE", "LOG_GROUP_SIGNAL"],
      order: "LOG_ORDER_MOST_HELD_BACK",
      page_size: 1000,
    },
    everyMs,
  );
  return (
    <Card title="By what" id="causes" wide>
      <Loaded live={live}>
        {({ sums = [] }) => {
          const causes = sums.map((sum) => ({ sum, held: heldOf(sum) })).filter(({ held }) => weightOf(held) > 0);
          const all = causes.reduce((before, { held }) => before + weightOf(held), 0);
          if (all === 0) return <Empty>Nothing was denied in this time, and nobody waited. Budgets, gates, rules and orders that hold back would be listed here.</Empty>;
          return (
            <ul class="rows causes">
              {causes.slice(0, SHOWN).map(({ sum, held }) => (
                <li class="row" key={causeKey(sum)}>
                  <div class="row-head">
                    <Name>{causeText(sum)}</Name>
                    <span class="end">
                      <strong>{heldText(held)}</strong> <span class="muted">{percent(weightOf(held) / all)}</span>
                    </span>
                  </div>
                  <Meter value={weightOf(held) / all} tone="bad" label={`Share of ${causeText(sum)}`} />
                </li>
              ))}
              {causes.length > SHOWN && <li class="row muted">{number(causes.length - SHOWN)} more causes</li>}
            </ul>
          );
        }}
      </Loaded>
    </Card>
  );
}
