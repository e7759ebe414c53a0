// Who is denied, by what and since when: the intervals of the last quarter of an hour, in sentences.
import type { Schemas } from "../api/client";
import { clock } from "../state/clock";
import { useLive, useNow } from "../state/live";
import { periodOf } from "../state/url";
import { plural, span } from "../text/format";
import { Link } from "../ui/link";
import { Badge, Card, Empty, Loaded, Name } from "../ui/parts";
import { LogOf } from "./log_of";

const RECENT_MS = 30_000;
const MOST = 100;
const SHOWN = 8;

// Whoever only waits is held back as well, and is in no interval: nobody is said to be free here.
export function HeldBack({ target, waiting }: { target: string; waiting?: Schemas["WaitingStatus"] | undefined }) {
  const now = useNow(10_000);
  const filter = { ...(target && { target }), ...periodOf("15m", now) };
  const live = useLive("list_throttled_intervals", { filter, newest_first: true, page_size: MOST });
  // What was so when the server last answered: a page without a server does not know that something has ended.
  const asOf = live.at === undefined ? now : clock.now(live.at);
  return (
    <Card
      title="Held back"
      id="held-back"
      aside={
        <>
          <LogOf />
          <span class="muted">last 15 min</span>
        </>
      }
      wide
    >
      <Loaded live={live}>
        {(data) => {
          const intervals = [...(data.intervals ?? [])].sort(
            (a, b) => Date.parse(b.to ?? "") - Date.parse(a.to ?? "") || Number(b.denied ?? 0) - Number(a.denied ?? 0),
          );
          if (intervals.length === 0) {
            const inLine = Number(waiting?.waiting ?? 0);
            return (
              <Empty>
                Nobody was denied for long in the last 15 minutes
                {inLine > 0 ? `; ${plural(inLine, "Check waits", "Checks wait")} in line now.` : ". How long Checks waited is not counted here."}
              </Empty>
            );
          }
          return (
            <ul class="rows">
              {intervals.slice(0, SHOWN).map((interval, i) => {
                const isNow = asOf - Date.parse(interval.to ?? "") < RECENT_MS;
                const sinceS = (asOf - Date.parse(interval.from ?? "")) / 1000;
                return (
                  <li class="row" key={i}>
                    <div class="row-head">
                      <Link to={{ view: "who", identity: interval.identity ?? "" }}>
                        <Name mono>{interval.identity}</Name>
                      </Link>
                      {!target && interval.target && (
                        <span class="muted">
                          on <Name>{interval.target}</Name>
                        </span>
                      )}
                      {isNow ? <Badge tone="bad">now, for {span(Math.max(0, sinceS))}</Badge> : <Badge tone="quiet">over</Badge>}
                      <strong class="end">{plural(Number(interval.denied ?? 0), "denial")}</strong>
                    </div>
                    <p>
                      <Name>{interval.message}</Name>
                    </p>
                  </li>
                );
              })}
              {intervals.length > SHOWN && (
                <li class="row">
                  <Link to={{ view: "who", range: "15m" }}>
                    {data.next_page_token && "more than "}
                    {plural(intervals.length - SHOWN, "more interval")} under Who
                  </Link>
                </li>
              )}
            </ul>
          );
        }}
      </Loaded>
    </Card>
  );
}
