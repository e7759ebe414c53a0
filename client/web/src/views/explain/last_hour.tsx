// What became of a job's Checks in the last hour, beside what one would be answered now: the two may differ.
import { useLive } from "../../state/live";
import { causeKey, causeText, type Cause } from "../../text/cause";
import { number, percent, plural } from "../../text/format";
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
        if (all === 0) return <Empty>No Check of it was decided in the last hour. How many were denied, and by what, would be said here.</Empty>;
        const share = denied / all;
        const causes = sums.filter((sum) => numberOf(sum.denied) > 0).sort((a, b) => numberOf(b.denied) - numberOf(a.denied));
        return (
          <>
            <p>
              <Badge tone={share >= MOST ? "bad" : denied > 0 ? "warn" : "good"}>{percent(share)} denied</Badge> {number(denied)} of {plural(all, "Check")}
            </p>
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
                    <strong class="end">{plural(numberOf(sum.denied), "denial")}</strong>
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
