// Who is held back, by what and since when: the intervals of the last quarter of an hour, in sentences. What holds back now comes
// first: after a pause that is the pause, whatever held back most before. Many are shown as groups.
import type { Schemas } from "../../api/client";
import { clock } from "../../state/clock";
import { useLive, useNow } from "../../state/live";
import { periodOf } from "../../state/url";
import { number, plural } from "../../text/format";
import { heldOf, weightOf } from "../../text/held";
import { Link } from "../../ui/link";
import { Card, Empty, Loaded } from "../../ui/parts";
import type { Override } from "../act/draft";
import { inLines } from "../lines";
import { LogOf } from "../log_of";
import { GroupRow } from "./group_row";
import { countsOf, groupsOf, newestOf, type Interval } from "./grouping";
import { IntervalRow } from "./interval_row";

const MOST = 100;
const SHOWN = 8;
// Where there are more than MOST, all of them are looked at, less often.
const ALL = 1000;
const ALL_EVERY_MS = 10_000;
const MOST_COUNTED = 10_000;

interface Props {
  target: string;
  waiting?: Schemas["WaitingStatus"] | undefined;
  overrides: readonly Override[] | undefined; // in force
}

export function HeldBack({ target, waiting, overrides }: Props) {
  const now = useNow(10_000);
  const on = target && { target };
  const filter = { ...on, ...periodOf("15m", now) };
  const live = useLive("list_throttled_intervals", { filter, newest_first: true, page_size: MOST });
  const isCut = Boolean(live.data?.next_page_token);
  const all = useLive("list_throttled_intervals", isCut ? { filter, newest_first: true, page_size: ALL } : undefined, ALL_EVERY_MS);
  const denials = useLive("list_denials", { ...on, page_size: MOST });
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
          const intervals = [...((isCut && all.data?.intervals) || data.intervals || [])].sort(
            (a, b) => Date.parse(b.to ?? "") - Date.parse(a.to ?? "") || weightOf(heldOf(b)) - weightOf(heldOf(a)),
          );
          if (intervals.length === 0) return <Nobody waiting={waiting} />;
          const newest = newestOf(intervals);
          if (newest.length > SHOWN) {
            return <Groups target={target} intervals={intervals} isCut={all.data ? Boolean(all.data.next_page_token) : isCut} filter={filter} asOf={asOf} />;
          }
          return (
            <ul class="rows">
              {newest.map(({ interval, earlier }) => (
                <IntervalRow
                  key={`${interval.target} ${interval.identity}`}
                  interval={interval}
                  earlier={earlier}
                  denials={denials.data?.denials ?? []}
                  overrides={overrides ?? []}
                  asOf={asOf}
                  showsTarget={!target}
                />
              ))}
            </ul>
          );
        }}
      </Loaded>
    </Card>
  );
}

// Who has waited for a short time is in no interval: that nobody was held back is not said here.
function Nobody({ waiting }: { waiting: Schemas["WaitingStatus"] | undefined }) {
  const inLine = inLines(waiting);
  return (
    <Empty>
      In the last 15 minutes no job waited half of the time, and of none half of the Checks were denied
      {inLine > 0 && `; ${plural(inLine, "Check waits", "Checks wait")} in line now`}. Such a job would be listed here, with what holds it back.
    </Empty>
  );
}

function Groups(props: { target: string; intervals: readonly Interval[]; isCut: boolean; filter: object; asOf: number }) {
  const { target, intervals, isCut, filter, asOf } = props;
  const counted = useLive(
    "query_throttle_log",
    isCut
      ? {
          filter: { ...filter, outcomes: ["OUTCOME_DENIED", "OUTCOME_WAITED"] },
          group_by: ["LOG_GROUP_IDENTITY", "LOG_GROUP_TARGET", "LOG_GROUP_REASON", "LOG_GROUP_BUDGET", "LOG_GROUP_RULE", "LOG_GROUP_SIGNAL"],
          order: "LOG_ORDER_MOST_HELD_BACK",
          page_size: MOST_COUNTED,
        }
      : undefined,
    ALL_EVERY_MS,
  );
  const counts = countsOf(counted.data?.sums ?? []);
  const groups = groupsOf(intervals, asOf);
  const more = groups.length - SHOWN;
  return (
    <>
      <p class="muted">Grouped by root and by what held back most{isCut && `; of the newest ${number(intervals.length)} times, with counts of all`}.</p>
      <ul class="rows">
        {groups.slice(0, SHOWN).map((group) => (
          <GroupRow
            key={group.key}
            group={group}
            count={counts.get(group.key)}
            isAtLeast={isCut && (!counted.data || Boolean(counted.data.next_page_token))}
            asOf={asOf}
            showsTarget={!target}
          />
        ))}
        {more > 0 && (
          <li class="row">
            <Link to={{ view: "who", range: "15m" }}>
              {isCut && "more than "}
              {plural(more, "more group")} under Who
            </Link>
          </li>
        )}
      </ul>
    </>
  );
}
