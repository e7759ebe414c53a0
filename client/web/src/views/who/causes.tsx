// What denied Checks in a time, the cause of most denials first.
import { useLive } from "../../state/live";
import { causeKey, causeText } from "../../text/cause";
import { number, percent } from "../../text/format";
import { numberOf } from "../../text/health";
import { Card, Empty, Loaded, Meter, Name } from "../../ui/parts";
import type { Filter } from "../log_filter";

const SHOWN = 8;

export function Causes({ filter, everyMs }: { filter: Filter; everyMs: number }) {
  const live = useLive(
    "query_throttle_log",
    {
      filter: { ...filter, outcomes: ["OUTCOME_DENIED"] },
      group_by: ["LOG_GROUP_REASON", "LOG_GROUP_BUDGET", "LOG_GROUP_RULE", "LOG_GROUP_SIGNAL"],
      order: "LOG_ORDER_MOST_DENIED",
      page_size: 1000,
    },
    everyMs,
  );
  return (
    <Card title="By what" id="causes" wide>
      <Loaded live={live}>
        {({ sums = [] }) => {
          const all = sums.reduce((before, sum) => before + numberOf(sum.denied), 0);
          if (all === 0) return <Empty>Nothing was denied in this time. Budgets, gates, rules and orders that deny would be listed here.</Empty>;
          return (
            <ul class="rows causes">
              {sums.slice(0, SHOWN).map((sum) => (
                <li class="row" key={causeKey(sum)}>
                  <div class="row-head">
                    <Name>{causeText(sum)}</Name>
                    <span class="end">
                      <strong>{number(sum.denied)}</strong> <span class="muted">denied, {percent(numberOf(sum.denied) / all)}</span>
                    </span>
                  </div>
                  <Meter value={numberOf(sum.denied) / all} tone="bad" label={`Share of ${causeText(sum)}`} />
                </li>
              ))}
              {sums.length > SHOWN && <li class="row muted">{number(sums.length - SHOWN)} more causes</li>}
            </ul>
          );
        }}
      </Loaded>
    </Card>
  );
}
