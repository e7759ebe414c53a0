// What became of a job's Checks in the last hour, beside what one would be answered now: the two may differ.
import type { Schemas } from "../../api/client";
import { useLive } from "../../state/live";
import { causeKey, causeText, type Cause } from "../../text/cause";
import { number, percent, plural, seconds, span } from "../../text/format";
import { heldOf, heldText, NOTHING, plus, weightOf } from "../../text/held";
import { numberOf } from "../../text/health";
import { Link } from "../../ui/link";
import { Badge, Empty, Loaded, Name } from "../../ui/parts";
import { LogOf } from "../log_of";

const EVERY_MS = 2000;
// From here on most are denied.
const MOST = 0.5;

export function LastHour({ identity, target, isAllowedNow }: { identity: string; target: string; isAllowedNow: boolean }) {
  const live = useLive(
    "query_throttle_log",
    { filter: { identity, ...(target && { target }) }, group_by: ["LOG_GROUP_REASON", "LOG_GROUP_BUDGET", "LOG_GROUP_RULE", "LOG_GROUP_SIGNAL"], page_size: 1000 },
    EVERY_MS,
  );
  return (
    <Loaded live={live}>
      {(data) => {
        const sums = data.sums ?? [];
        const denied = sums.reduce((all, sum) => all + numberOf(sum.denied), 0);
        const all = sums.reduce((before, sum) => before + numberOf(sum.allowed) + numberOf(sum.would_be_denied), denied);
        if (all === 0 && !sums.some((sum) => sum.waiting)) return <Empty>No Check of it was decided in the last hour. How many were denied, and by what, would be said here.</Empty>;
        const share = all > 0 ? denied / all : 0;
        const waited = sums.map(heldOf).reduce(plus, NOTHING).waitedS;
        const longest = sums.reduce((most, sum) => Math.max(most, seconds(sum.waiting?.longest) ?? 0), 0);
        const weight = (sum: Schemas["LogSum"]) => weightOf(heldOf(sum));
        const causes = sums.filter((sum) => weight(sum) > 0).sort((a, b) => weight(b) - weight(a));
        return (
          <>
            <p>
              <Badge tone={share >= MOST ? "bad" : denied > 0 || waited > 0 ? "warn" : "good"}>{percent(share)} denied</Badge> {number(denied)} of {plural(all, "Check")}
            </p>
            {waited > 0 && (
              <p>
                Its Checks waited {span(waited)} in all, {span(longest)} at most.
              </p>
            )}
            {isAllowedNow && share >= MOST && (
              <p class="ask" role="status">
                A Check with these values is allowed now, but most of its Checks were denied. Give the cost, the pattern and the tags that the job sends.
              </p>
            )}
            <ul class="rows">
              {causes.slice(0, 6).map((sum) => (
                <li class="row" key={causeKey(sum as Cause)}>
                  <div class="row-head">
                    <span>
                      by <Name>{causeText(sum)}</Name>
                    </span>
                    <strong class="end">{heldText(heldOf(sum))}</strong>
                  </div>
                </li>
              ))}
            </ul>
            <p class="actions">
              <LogOf />
              <Link to={{ view: "who", identity, segment: "", range: "1h" }}>When, under Who</Link>
            </p>
          </>
        );
      }}
    </Loaded>
  );
}
